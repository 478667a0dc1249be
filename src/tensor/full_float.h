// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/Context.h>

namespace kappascope::tensor {

/// While one lives, products of float matrices are taken in float on every device, also where the
/// user lets LibTorch round their factors to TF32 or bfloat16 for speed (an error of 5e-4 or 4e-3
/// instead of 6e-8). Nothing is changed where LibTorch does not round. On a device this is of the
/// calling thread; on the host LibTorch has one switch for all threads, which is put back.
class FullFloat {
 public:
  FullFloat() : narrow_(host_rounds() && at::globalContext().userEnabledMkldnn()) {
    if (narrow_) at::globalContext().setUserEnabledMkldnn(false);
  }
  ~FullFloat() {
    if (narrow_) at::globalContext().setUserEnabledMkldnn(true);
  }
  FullFloat(const FullFloat&) = delete;
  FullFloat& operator=(const FullFloat&) = delete;

 private:
  // The kernels that round are oneDNN's, so float products go without it.
  static bool host_rounds() {
    const auto precision =
        at::globalContext().float32Precision(at::Float32Backend::MKLDNN, at::Float32Op::MATMUL);
    return precision == at::Float32Precision::TF32 || precision == at::Float32Precision::BF16;
  }

  bool narrow_;
  at::NoTF32Guard device_;
};

}  // namespace kappascope::tensor
