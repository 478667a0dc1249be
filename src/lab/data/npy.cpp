// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/types.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <string_view>
#include <vector>

#include "core/own_files.h"
#include "core/printable.h"
#include "core/require.h"
#include "lab/data/pixels.h"
#include "tensor/safetensors/mapped_file.h"

namespace kappascope::data {
namespace {

namespace fs = std::filesystem;

struct Header {
  std::vector<int64_t> shape;
  int64_t offset = 0;  ///< of the first value, in bytes
};

/// What follows `key` and blanks.
std::string_view after(std::string_view text, std::string_view key) {
  const auto at = text.find(key);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + key.size());
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text;
}

/// Whole numbers between commas; none where the text is something else, or a number beyond all
/// images.
std::optional<std::vector<int64_t>> parse_numbers(std::string_view text) {
  constexpr int64_t kMost = 9'999'999'999;
  std::vector<int64_t> numbers;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.empty()) return numbers;
    int64_t number = 0;
    const auto* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || number < 0 || number > kMost) return std::nullopt;
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.empty()) return numbers;
    if (text.front() != ',') return std::nullopt;
    text.remove_prefix(1);
  }
}

/// NumPy's format, versions 1 to 3: magic, version, length of the header, a Python dictionary.
Header read_header(const fs::path& file) {
  require_regular(file);
  std::ifstream in(file, std::ios::binary);
  require(in.good(), "cannot open {}", file.string());
  std::string start(12, '\0');
  in.read(start.data(), 12);
  require(in.gcount() == 12 && start.substr(0, 6) == "\x93NUMPY",
          "{} is not an NPY file: it does not begin with the magic \\x93NUMPY",
          file.string());
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(start[i]); };
  const bool wide = byte(6) >= 2;
  const int64_t length = wide ? byte(8) | byte(9) << 8 | byte(10) << 16 | int64_t{byte(11)} << 24
                              : byte(8) | byte(9) << 8;
  Header header;
  header.offset = (wide ? 12 : 10) + length;
  require(length < 65536, "{} is damaged: its header has {} bytes", file.string(), length);
  std::string text(static_cast<std::size_t>(length), '\0');
  in.seekg(wide ? 12 : 10);
  in.read(text.data(), length);
  require(in.gcount() == length, "{} is truncated in its header", file.string());

  require(after(text, "'descr':").starts_with("'|u1'"),
          "{} must hold unsigned bytes ('|u1', numpy.uint8); its header is {}",
          file.string(),
          printable(text));
  require(after(text, "'fortran_order':").starts_with("False"),
          "{} must be in C order: save numpy.ascontiguousarray(images)",
          file.string());
  const auto shape = after(text, "'shape':");
  const auto end = shape.find(')');
  require(shape.starts_with('(') && end != std::string_view::npos,
          "{} is damaged: its header has no shape",
          file.string());
  const auto numbers = parse_numbers(shape.substr(1, end - 1));
  require(numbers.has_value(),
          "{} is damaged: its shape is {}",
          file.string(),
          printable(shape.substr(0, end + 1)));
  header.shape = *numbers;
  return header;
}

}  // namespace

Pixels map_npy(const fs::path& file, Split split) {
  const auto header = read_header(file);
  const auto& shape = header.shape;
  const bool grey = shape.size() == 3;
  const bool last = shape.size() == 4 && (shape[3] == 1 || shape[3] == 3);
  const bool first = shape.size() == 4 && (shape[1] == 1 || shape[1] == 3);
  const auto bytes = static_cast<int64_t>(fs::file_size(file));
  int64_t total = 1;
  for (const auto extent : shape) {
    require(extent == 0 || total <= bytes / extent,
            "{} is truncated or damaged: it has {} bytes, fewer than its header announces",
            file.string(),
            bytes);
    total *= extent;
  }
  require((grey || last || first) && total > 0,
          "{} must hold images as [n, height, width], or with 1 or 3 channels first or last, not "
          "shape ({})",
          file.string(),
          fmt::format("{}", fmt::join(shape, ", ")));
  require(bytes == header.offset + total,
          "{} is truncated or damaged: it has {} bytes, its header announces {}",
          file.string(),
          bytes,
          header.offset + total);
  auto values =
      tensor::mapped_tensor(file, torch::kUInt8).narrow(0, header.offset, total).view(shape);
  if (grey) values = values.unsqueeze(1);
  if (last) values = values.permute({0, 3, 1, 2});
  // Every tenth is held out: views of the mapped file, so that nothing is read here.
  const auto n = values.size(0);
  require(n >= 10, "{} holds {} images; it takes ten to hold one out", file.string(), n);
  std::vector<int64_t> chosen;
  for (int64_t i = 0; i < n; ++i) {
    if (held_out(i) == (split == Split::kTest)) chosen.push_back(i);
  }
  return {values, {}, 0, torch::tensor(chosen, torch::kLong)};
}

}  // namespace kappascope::data
