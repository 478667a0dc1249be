// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <png.h>
#include <turbojpeg.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <vector>

namespace kappascope::testing {

/// Writes pixels [height, width, 3] as PNG, or as JPEG where the file's ending is no .png.
inline void write_picture(const std::filesystem::path& file,
                          int width,
                          int height,
                          const std::vector<unsigned char>& pixels) {
  if (file.extension() == ".png") {
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    image.width = static_cast<png_uint_32>(width);
    image.height = static_cast<png_uint_32>(height);
    image.format = PNG_FORMAT_RGB;
    if (png_image_write_to_file(&image, file.c_str(), 0, pixels.data(), 0, nullptr) == 0)
      throw std::runtime_error(image.message);
    return;
  }
  const std::unique_ptr<void, int (*)(tjhandle)> encoder(tjInitCompress(), tjDestroy);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  const int failed = tjCompress2(
      encoder.get(), pixels.data(), width, 0, height, TJPF_RGB, &bytes, &size, TJSAMP_444, 95, 0);
  const std::unique_ptr<unsigned char, void (*)(unsigned char*)> owner(bytes, tjFree);
  if (failed != 0) throw std::runtime_error(tjGetErrorStr2(encoder.get()));
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes), static_cast<std::streamsize>(size));
}

}  // namespace kappascope::testing
