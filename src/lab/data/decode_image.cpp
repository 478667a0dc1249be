// SPDX-License-Identifier: Apache-2.0
#include "lab/data/decode_image.h"

#include <png.h>
#include <torch/types.h>
#include <turbojpeg.h>

#include <memory>
#include <string_view>

#include "core/printable.h"
#include "core/require.h"
#include "tensor/safetensors/mapped_file.h"

namespace kappascope::data {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& path, std::string_view why) {
  throw Error(fmt::format("cannot decode {}: {}", path.string(), printable(why)));
}

void require_decodable(const fs::path& path, std::int64_t width, std::int64_t height) {
  require(is_decodable(width, height),
          "{} is too large: {} x {} pixels, where a side may have {} and the image {}",
          path.string(),
          width,
          height,
          kLongestSide,
          kLargestArea);
}

at::Tensor empty_image(std::int64_t height, std::int64_t width, std::int64_t channels) {
  return torch::empty({height, width, channels}, torch::kUInt8);
}

at::Tensor decode_png(const fs::path& path, std::string_view bytes) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, void (*)(png_image*)> owner(&image, png_image_free);
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0)
    refuse(path, image.message);
  require_decodable(path, image.width, image.height);
  const bool alpha = (image.format & PNG_FORMAT_FLAG_ALPHA) != 0;
  image.format = alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
  auto pixels = empty_image(image.height, image.width, alpha ? 4 : 3);
  if (png_image_finish_read(&image, nullptr, pixels.data_ptr(), 0, nullptr) == 0)
    refuse(path, image.message);
  return pixels.narrow(2, 0, 3);
}

at::Tensor decode_jpeg(const fs::path& path, std::string_view bytes) {
  const std::unique_ptr<void, int (*)(tjhandle)> decoder(tjInitDecompress(), tjDestroy);
  if (decoder == nullptr) throw std::bad_alloc();
  const auto* start = reinterpret_cast<const unsigned char*>(bytes.data());
  int width = 0, height = 0, sampling = 0, colours = 0;
  if (tjDecompressHeader3(
          decoder.get(), start, bytes.size(), &width, &height, &sampling, &colours) != 0)
    refuse(path, tjGetErrorStr2(decoder.get()));
  require_decodable(path, width, height);
  auto pixels = empty_image(height, width, 3);
  // A warning is damage: bytes that fit no code, or an end that is missing.
  const int failed = tjDecompress2(decoder.get(),
                                   start,
                                   bytes.size(),
                                   pixels.data_ptr<std::uint8_t>(),
                                   width,
                                   0,
                                   height,
                                   TJPF_RGB,
                                   TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS | TJFLAG_STOPONWARNING);
  if (failed != 0) refuse(path, tjGetErrorStr2(decoder.get()));
  return pixels;
}

}  // namespace

at::Tensor decode_image(const fs::path& path) {
  const auto file = tensor::map_file(path);
  const std::string_view bytes(reinterpret_cast<const char*>(file.bytes.get()), file.size);
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return decode_png(path, bytes);
  if (bytes.starts_with("\xff\xd8\xff")) return decode_jpeg(path, bytes);
  refuse(path, "it is neither PNG nor JPEG");
}

}  // namespace kappascope::data
