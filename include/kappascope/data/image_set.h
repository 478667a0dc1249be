// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>

namespace kappascope::data {

/// Images with one label each.
struct ImageSet {
  at::Tensor images;  ///< [n, height · width], float, in [0, 1]
  at::Tensor labels;  ///< [n], int64
  int64_t classes = 0;

  [[nodiscard]] int64_t size() const { return labels.defined() ? labels.size(0) : 0; }
};

enum class Split { kTrain, kTest };

/// Reads train or test images and labels in the IDX format of MNIST and its kin (files
/// train-images-idx3-ubyte and so on, gzip or not) from `dir`. Throws Error naming the file and
/// what is wrong with it: missing, wrong magic, truncated, counts that differ, empty.
ImageSet load_idx(const std::filesystem::path& dir, Split split);

}  // namespace kappascope::data
