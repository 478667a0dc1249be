// SPDX-License-Identifier: Apache-2.0
#include "curvature/basis_room.h"

#include <ATen/DeviceAccelerator.h>
#include <torch/types.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <string>

#include "core/memory.h"
#include "curvature/gathered.h"

namespace kappascope::curvature {
namespace {

/// Processes of the group on this host.
std::int64_t processes_here(tensor::Group* group) {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  // A double holds 53 bits of it.
  const auto host = static_cast<double>(std::hash<std::string>()(name.data()) >> 11U);
  return (gathered(host, group).array() == host).count();
}

}  // namespace

std::optional<std::int64_t> free_bytes(const at::TensorOptions& options, tensor::Group* group) {
  const auto here = processes_here(group);
  if (options.device().is_cpu()) {
    const auto free = available_memory();
    return free ? std::optional(*free / here) : std::nullopt;
  }
  try {
    return static_cast<std::int64_t>(
        at::accelerator::getMemoryInfo(torch::empty({0}, options).device().index()).first);
  } catch (const c10::Error&) {
    return std::nullopt;  // a device that does not tell
  }
}

}  // namespace kappascope::curvature
