// SPDX-License-Identifier: Apache-2.0
#include "store/rows/array_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/require.h"

namespace kappascope::store {

static_assert(std::endian::native == std::endian::little, "doubles are copied as they are");

std::int64_t element_count(const std::vector<std::int64_t>& shape) {
  if (std::ranges::any_of(shape, [](auto size) { return size < 0; })) return -1;
  if (std::ranges::count(shape, 0) > 0) return 0;
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    if (count > std::numeric_limits<std::int64_t>::max() / size) return -1;
    count *= size;
  }
  return count;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::vector<std::int64_t> parse_shape(const std::string& text) {
  const auto shape = nlohmann::json::parse(text);
  // The library would cut a fraction off, and take true for 1.
  require(shape.is_array() &&
              std::ranges::all_of(shape, [](const auto& size) { return size.is_number_integer(); }),
          "its shape is no list of whole numbers");
  return shape.get<std::vector<std::int64_t>>();
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
