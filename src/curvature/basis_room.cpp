// SPDX-License-Identifier: Apache-2.0
#include "curvature/basis_room.h"

#include <ATen/DeviceAccelerator.h>
#include <torch/types.h>

#include "kappascope/core/memory.h"

namespace kappascope::curvature {

std::optional<std::int64_t> free_bytes(const at::TensorOptions& options) {
  if (options.device().is_cpu()) return available_memory();
  try {
    return static_cast<std::int64_t>(
        at::accelerator::getMemoryInfo(torch::empty({0}, options).device().index()).first);
  } catch (const c10::Error&) {
    return std::nullopt;  // a device that does not tell
  }
}

}  // namespace kappascope::curvature
