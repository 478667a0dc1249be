// SPDX-License-Identifier: Apache-2.0
// Arrays as they stand in the database: little-endian float64 and a shape as JSON text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kappascope::store {

inline constexpr const char* kArrayDtype =
    "<f8";  ///< NumPy's name, so frombuffer takes it as it is

/// The product of the shape (1 for the empty shape); -1 when a size is negative, or the product
/// beyond 63 bits.
std::int64_t element_count(const std::vector<std::int64_t>& shape);
/// "[4, 200]" and back. parse_shape throws Error or nlohmann's exceptions on anything else.
std::string shape_text(const std::vector<std::int64_t>& shape);
std::vector<std::int64_t> parse_shape(const std::string& text);

std::string to_little_endian(const std::vector<double>& numbers);
std::vector<double> from_little_endian(std::string_view bytes);

}  // namespace kappascope::store
