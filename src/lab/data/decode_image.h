// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>

namespace kappascope::data {

/// Of an image on disk and of the same scaled: above them a file costs gigabytes to decode.
inline constexpr std::int64_t kLongestSide = 32'768;
inline constexpr std::int64_t kLargestArea = 1 << 27;  ///< pixels

constexpr bool is_decodable(std::int64_t width, std::int64_t height) {
  return width <= kLongestSide && height <= kLongestSide && width * height <= kLargestArea;
}

/// The pixels of a PNG or JPEG file, which is known by its content: [height, width, 3], uint8, red,
/// green and blue as sRGB; how opaque a pixel is does not matter. Nothing is reserved before the
/// header is found to be within the limits. Throws Error naming the file where it is neither, is
/// larger, damaged or cut off, or of colours for printing (CMYK).
at::Tensor decode_image(const std::filesystem::path& path);

}  // namespace kappascope::data
