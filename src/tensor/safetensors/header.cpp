// SPDX-License-Identifier: Apache-2.0
#include "tensor/safetensors/header.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/require.h"
#include "tensor/safetensors/format.h"

namespace kappascope::tensor {
namespace {

using Entry = SafetensorsFile::Entry;
using Json = nlohmann::json;

/// Product of `shape` and the type's size; refuses what does not fit 63 bits.
std::size_t bytes_of(const Entry& entry) {
  std::size_t bytes = c10::elementSize(entry.type);
  for (const auto extent : entry.shape) {
    require(extent >= 0, "a negative extent");
    const auto wide = static_cast<std::size_t>(extent);
    require(wide == 0 || bytes <= std::numeric_limits<std::int64_t>::max() / wide,
            "a shape beyond all memory");
    bytes *= wide;
  }
  return bytes;
}

/// What stands in a tensor's object.
struct Fields {
  std::optional<std::string> type;
  std::optional<std::vector<std::int64_t>> shape, offsets;
};

Entry entry_of(const Fields& fields, std::size_t size) {
  require(fields.type.has_value(), "it has no dtype");
  require(fields.shape.has_value(), "it has no shape");
  require(fields.offsets.has_value(), "it has no data_offsets");
  Entry entry;
  const auto known = std::find_if(kSafetensorsTypes.begin(),
                                  kSafetensorsTypes.end(),
                                  [&](auto& pair) { return *fields.type == pair.first; });
  require(known != kSafetensorsTypes.end(), "the type {} is not known", *fields.type);
  entry.type = known->second;
  entry.shape = *fields.shape;
  const auto& offsets = *fields.offsets;
  require(offsets.size() == 2 && offsets[0] >= 0 && offsets[1] >= 0,
          "data_offsets must be two numbers from 0 on");
  entry.begin = static_cast<std::size_t>(offsets[0]);
  entry.end = static_cast<std::size_t>(offsets[1]);
  require(
      entry.begin <= entry.end && entry.end <= size,
      "bytes {} to {} are not among the {} that follow the header: the file is cut off or damaged",
      entry.begin,
      entry.end,
      size);
  require(entry.end - entry.begin == bytes_of(entry), "its shape does not fit its bytes");
  return entry;
}

/// Takes a header apart as it is read: {NAME: {"dtype": …, "shape": […], "data_offsets": […]}}, and
/// under kMetadata texts. Other fields of a tensor are passed over.
class Reader final : public nlohmann::json_sax<Json> {
 public:
  explicit Reader(std::size_t size) : size_(size) {}
  SafetensorsHeader header;

  bool start_object(std::size_t /*count*/) override {
    require(!in_list_ && depth_ < 2, "{}an object stands where none may", where());
    ++depth_;
    fields_ = {};
    field_names_.clear();
    return true;
  }
  bool end_object() override {
    if (depth_-- == 2 && name_ != kMetadata)
      named([&] { header.entries.emplace(name_, entry_of(fields_, size_)); });
    return true;
  }
  bool key(std::string& text) override {
    auto& names = depth_ == 1 ? names_ : field_names_;
    require(names.insert(text).second, "the name {} stands there twice", Json(text).dump());
    (depth_ == 1 ? name_ : field_) = std::move(text);
    return true;
  }
  bool start_array(std::size_t /*count*/) override {
    require(depth_ > 0, "the header is not a JSON object");
    require(!in_list_ && depth_ == 2, "{}a list stands where none may", where());
    require(name_ != kMetadata, "{}it must hold texts", where());
    in_list_ = true;
    if (field_ == "shape") fields_.shape.emplace();
    if (field_ == "data_offsets") fields_.offsets.emplace();
    return true;
  }
  bool end_array() override {
    in_list_ = false;
    return true;
  }
  bool number_integer(std::int64_t number) override { return whole(number); }
  bool number_unsigned(std::uint64_t number) override {
    require(number <= std::numeric_limits<std::int64_t>::max(),
            "{}{} is beyond all memory",
            where(),
            number);
    return whole(static_cast<std::int64_t>(number));
  }
  bool number_float(double /*number*/, const std::string& text) override { return other(text); }
  bool null() override { return other("null"); }
  bool boolean(bool value) override { return other(value ? "true" : "false"); }
  bool binary(Json::binary_t& /*bytes*/) override { return other("bytes"); }
  bool string(std::string& text) override {
    require_field();
    if (name_ == kMetadata) {
      header.metadata[field_] = std::move(text);
    } else if (field_ == "dtype" && !in_list_) {
      fields_.type = std::move(text);
    } else {
      return other("a text");
    }
    return true;
  }
  bool parse_error(std::size_t /*at*/,
                   const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    throw Error(error.what());
  }

 private:
  /// Throws what body() throws, with the tensor's name.
  template <typename Body>
  void named(const Body& body) {
    try {
      body();
    } catch (const Error& error) {
      throw Error(where() + error.what());
    }
  }
  [[nodiscard]] std::string where() const { return depth_ == 0 ? "" : "tensor '" + name_ + "': "; }
  void require_field() const {
    require(depth_ > 0, "the header is not a JSON object");
    require(depth_ == 2, "{}it is no object", where());
  }
  [[nodiscard]] bool is_needed() const {
    return field_ == "dtype" || field_ == "shape" || field_ == "data_offsets";
  }
  bool whole(std::int64_t number) {
    require_field();
    auto& list = field_ == "shape" ? fields_.shape : fields_.offsets;
    if (!in_list_ || (field_ != "shape" && field_ != "data_offsets")) return other("a number");
    require(list->size() < kMostExtents, "{}{} has more than {}", where(), field_, kMostExtents);
    list->push_back(number);
    return true;
  }
  /// What no field that is needed, and no text of the metadata, may be.
  bool other(const std::string& what) {
    require_field();
    require(name_ != kMetadata, "{}it must hold texts", where());
    require(!is_needed(),
            "{}{} must be {}, not {}",
            where(),
            field_,
            field_ == "dtype" ? "a text" : "whole numbers",
            what);
    return true;
  }

  std::size_t size_;
  int depth_ = 0;
  bool in_list_ = false;
  std::string name_, field_;
  std::set<std::string> names_, field_names_;
  Fields fields_;
};

void require_no_gap(const std::map<std::string, Entry>& entries, std::size_t size) {
  std::vector<std::pair<std::size_t, std::size_t>> spans;
  spans.reserve(entries.size());
  for (const auto& [name, entry] : entries) spans.emplace_back(entry.begin, entry.end);
  std::sort(spans.begin(), spans.end());
  std::size_t reached = 0;
  for (const auto& [begin, end] : spans) {
    require(begin == reached, "its tensors overlap or leave a gap at byte {}", reached);
    reached = end;
  }
  require(reached == size, "{} bytes after the last tensor belong to none", size - reached);
}

}  // namespace

SafetensorsHeader parse_header(std::string_view json, std::size_t size) {
  Reader reader(size);
  Json::sax_parse(json.begin(), json.end(), &reader);
  require_no_gap(reader.header.entries, size);
  return std::move(reader.header);
}

}  // namespace kappascope::tensor
