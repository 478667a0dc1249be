// SPDX-License-Identifier: Apache-2.0
// What holds of every set of images that was opened.
#pragma once

#include <torch/types.h>

#include <cmath>

#include "fuzz/fuzz.h"
#include "lab/data/images.h"

namespace kappascope::fuzz {

/// All images and labels at once, which may throw Error. Returns the sum of all pixels, each 0 to
/// 255; NaN where reading threw.
inline double check_images(const data::ImageSource& set) {
  const auto n = set.size();
  const auto shape = set.shape();
  expect(n > 0 && shape.channels > 0 && shape.height > 0 && shape.width > 0, "no extent is zero");
  const auto all = torch::arange(n, torch::kLong);
  at::Tensor images, labels;
  if (!accepted([&] { images = set.images(all), labels = set.labels(all); })) return NAN;
  expect(images.sizes() == at::IntArrayRef({n, shape.channels, shape.height, shape.width}),
         "images have the shape that the set says");
  expect(images.ge(0).logical_and(images.le(1)).all().item<bool>(), "pixels lie in [0, 1]");
  expect(labels.defined() == (set.classes() > 0), "labels are there where classes are");
  if (labels.defined()) {
    expect(labels.sizes() == at::IntArrayRef({n}), "there is a label an image");
    expect(labels.ge(0).logical_and(labels.lt(set.classes())).all().item<bool>(),
           "labels are classes");
  }
  return (images.to(torch::kDouble) * 255).round().sum().item<double>();
}

}  // namespace kappascope::fuzz
