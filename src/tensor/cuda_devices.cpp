// SPDX-License-Identifier: Apache-2.0
#include "tensor/cuda_devices.h"

#include <dlfcn.h>
#include <torch/cuda.h>

namespace kappascope::tensor {

const CudaDevices& cuda_devices() {
  static const CudaDevices devices = [] {
    CudaDevices found;
    if (dlopen("libtorch_cuda.so", RTLD_LAZY) == nullptr) found.missing = dlerror();
    // NOLINTNEXTLINE(bugprone-signed-char-misuse): LibTorch counts devices in a signed char.
    found.count = static_cast<std::int64_t>(torch::cuda::device_count());
    return found;
  }();
  return devices;
}

}  // namespace kappascope::tensor
