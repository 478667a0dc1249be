// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/cuda.h>

#include "support/catch.h"

namespace kappascope {

/// A device test says why it did not run; it does not pass in silence.
inline bool no_device() {
  if (torch::cuda::is_available()) return false;
  WARN("skipped: LibTorch sees no CUDA device here");
  return true;
}

}  // namespace kappascope
