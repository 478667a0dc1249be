// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/Context.h>

#include <optional>
#include <string>
#include <vector>

namespace kappascope::tensor {

/// While one lives, products of float matrices and convolutions are taken in float on every device,
/// also where the user, or a default, lets LibTorch round their factors to TF32 or bfloat16 for
/// speed (an error of 5e-4 or 4e-3 instead of 6e-8). LibTorch's switches are of the process, as the
/// passes of a graph run in threads of their own; they are put back.
class FullFloat {
 public:
  FullFloat();
  ~FullFloat();
  FullFloat(const FullFloat&) = delete;
  FullFloat& operator=(const FullFloat&) = delete;

 private:
  struct Switch {
    at::Float32Backend backend;
    at::Float32Op op;
    at::Float32Precision before;
  };
  std::optional<std::string> matmul_;  // what set_float32_matmul_precision() was told
  bool cudnn_ = false;                 // allow_tf32 was on
  std::vector<Switch> switches_;       // what neither of the two has switched
};

}  // namespace kappascope::tensor
