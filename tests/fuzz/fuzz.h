// SPDX-License-Identifier: Apache-2.0
// A fuzz target: a property of a reader or a writer that holds for every sequence of bytes. One
// source a target, in targets/; each is a libFuzzer program of its own (preset fuzz), and in every
// other build a part of the program that replays the corpora.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kappascope/core/error.h"

namespace kappascope::fuzz {

struct Target {
  std::string name;  ///< of its source, its corpus and its CTest entry
  /// Ends the program (expect, or an exception that is no Error) where the property does not hold.
  std::function<void(std::string_view)> check;
  /// A few inputs that are accepted, from which a corpus begins: name and bytes.
  std::function<std::vector<std::pair<std::string, std::string>>()> seeds;
  /// Writes lengths and checksums anew after a blind change, which dies at them otherwise.
  std::function<std::string(std::string)> repair{};
};

/// Those of this program.
std::vector<Target>& targets();

struct Registered {
  explicit Registered(Target target) { targets().push_back(std::move(target)); }
};

/// Ends the program with the message unless `holds`.
void expect(bool holds, std::string_view message);

/// Whether body() ends without an Error. Any other exception passes, and ends the program.
template <typename Body>
bool accepted(Body&& body) {
  try {
    std::forward<Body>(body)();
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// For the arguments "--seeds FOLDER": writes the seeds of all targets to FOLDER/TARGET. Whether it
/// was asked for that.
bool write_seeds(int count, char** arguments);

/// What is asked for only because asking may throw.
template <typename Value>
void drop(const Value& /*value*/) {}

/// A folder of this process, removed at its end; the same subfolder each time.
std::filesystem::path scratch(const std::string& subfolder);
void put(const std::filesystem::path& file, std::string_view bytes);
std::string get(const std::filesystem::path& file);

/// Numbers and texts taken from the front of an input; zeros and "" once it is used up.
class Input {
 public:
  explicit Input(std::string_view bytes) : left_(bytes) {}

  template <typename Number>
  Number number() {
    Number value{};
    const auto part = take(sizeof value);
    if (!part.empty()) std::memcpy(&value, part.data(), part.size());
    return value;
  }
  std::uint8_t byte() { return number<std::uint8_t>(); }
  /// 0 to count - 1.
  std::size_t below(std::size_t count) { return byte() % count; }
  bool flag() { return byte() % 2 == 1; }
  /// A length in one byte, then as many bytes; lengths from 248 on stand for some hundreds.
  std::string text() {
    const std::size_t length = byte();
    return std::string(take(length < 248 ? length : (length - 246) * 100));
  }
  std::string_view take(std::size_t count) {
    const auto part = left_.substr(0, count);
    left_.remove_prefix(part.size());
    return part;
  }
  [[nodiscard]] std::string_view rest() const { return left_; }
  [[nodiscard]] bool empty() const { return left_.empty(); }

 private:
  std::string_view left_;
};

/// A number as bytes, little-endian.
template <typename Number>
std::string bytes_of(Number value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

/// A text as Input::text() takes it.
inline std::string text_of(const std::string& text) {
  return std::string(1, static_cast<char>(text.size())) + text;
}

}  // namespace kappascope::fuzz
