// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace kappascope::tensor {

/// What LibTorch's CUDA half sees.
struct CudaDevices {
  std::int64_t count = 0;
  std::string missing;  ///< why that half is not there, in the loader's words; empty where it is
};

/// Loads LibTorch's CUDA half, libtorch_cuda, at the first call. A program is not linked with it:
/// it would make every start 0.2 s longer, and most runs take no device. LibTorch itself looks only
/// once for that half, so this must come before anything that asks it: in a program of one's own,
/// before torch::manual_seed. Where that half is loaded already, as by Python, nothing changes.
const CudaDevices& cuda_devices();

}  // namespace kappascope::tensor
