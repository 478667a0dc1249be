// SPDX-License-Identifier: Apache-2.0
// A small IDX image set that a network can learn, made on the spot.
#pragma once

#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "support/files.h"

namespace kappascope::testing {

inline void put_big_endian(std::string& bytes, std::uint32_t value) {
  for (const unsigned shift : {24U, 16U, 8U, 0U})
    bytes.push_back(static_cast<char>((value >> shift) & 0xFFU));
}

/// `n` images of 6 x 6 pixels in three classes, each class with a bright row of its own.
inline void write_idx(const std::filesystem::path& dir,
                      const std::string& prefix,
                      std::uint32_t n,
                      std::uint32_t seed) {
  std::filesystem::create_directories(dir);
  std::mt19937 random(seed);
  std::string images, labels;
  put_big_endian(images, 0x0803);
  for (const std::uint32_t v : {n, 6U, 6U}) put_big_endian(images, v);
  put_big_endian(labels, 0x0801);
  put_big_endian(labels, n);
  for (std::uint32_t i = 0; i < n; ++i) {
    const auto label = i % 3;
    labels.push_back(static_cast<char>(label));
    for (std::uint32_t pixel = 0; pixel < 36; ++pixel) {
      const auto noise = static_cast<int>(random() % 120);
      images.push_back(static_cast<char>(noise + (pixel / 12 == label ? 100 : 0)));
    }
  }
  write_bytes(dir / (prefix + "-images-idx3-ubyte"), images);
  write_bytes(dir / (prefix + "-labels-idx1-ubyte"), labels);
}

inline void write_image_set(const std::filesystem::path& dir) {
  write_idx(dir, "train", 600, 1);
  write_idx(dir, "t10k", 90, 2);
}

}  // namespace kappascope::testing
