// SPDX-License-Identifier: Apache-2.0
#include "store/array_codec.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

namespace kappascope::store {

static_assert(std::endian::native == std::endian::little, "doubles are copied as they are");

std::int64_t element_count(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    if (size < 0) return -1;
    count *= size;
  }
  return count;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::vector<std::int64_t> parse_shape(const std::string& text) {
  return nlohmann::json::parse(text).get<std::vector<std::int64_t>>();
}

std::string to_little_endian(const std::vector<double>& numbers) {
  std::string bytes(numbers.size() * sizeof(double), '\0');
  if (!numbers.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

std::vector<double> from_little_endian(std::string_view bytes) {
  std::vector<double> numbers(bytes.size() / sizeof(double));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(double));
  return numbers;
}

}  // namespace kappascope::store
