// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <string>

#include "lab/data/images.h"

namespace kappascope::data {

/// A whole set of images as bytes.
struct Pixels {
  at::Tensor values;    ///< [n, channels, height, width], uint8, of any strides; may be mapped
  at::Tensor labels{};  ///< [n], int64; undefined without labels
  int64_t classes = 0;
  at::Tensor chosen{};  ///< [k], int64: those of `values` that the set is made of; undefined: all
};

/// Whether `dir` holds `stem` or `stem`.gz.
bool has_file(const std::filesystem::path& dir, const std::string& stem);
/// The one that is there. Throws, saying what is missing and where people get it.
std::filesystem::path find_file(const std::filesystem::path& dir,
                                const std::string& stem,
                                const std::string& advice);

Pixels read_idx(const std::filesystem::path& dir, Split split);
Pixels read_cifar10(const std::filesystem::path& dir, Split split);
Pixels read_cifar100(const std::filesystem::path& dir, Split split);
Pixels map_npy(const std::filesystem::path& file, Split split);

/// Whether number i of a set without a test part of its own is held out for it.
constexpr bool held_out(int64_t i) {
  return i % 10 == 9;
}

}  // namespace kappascope::data
