// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/catch.h"
#include "tensor/cuda_devices.h"

namespace kappascope {

/// A device test says why it did not run; it does not pass in silence.
inline bool no_device() {
  if (tensor::cuda_devices().count > 0) return false;
  WARN("skipped: LibTorch sees no CUDA device here");
  return true;
}

}  // namespace kappascope
