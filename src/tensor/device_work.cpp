// SPDX-License-Identifier: Apache-2.0
#include "tensor/device_work.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <limits>

#include "core/time.h"

namespace kappascope::tensor {
namespace {

constexpr double kReference = 1.5e11;  // floating-point operations a second
constexpr int kRounds = 3;             // after one that loads what is needed

}  // namespace

double device_speed(const c10::Device& device) {
  const torch::NoGradGuard no_grad;
  // So large that a device's start of a kernel does not count, so small that a host is not held up.
  const int64_t rows = device.is_cpu() ? 256 : 2048, features = device.is_cpu() ? 512 : 4096;
  const auto x = torch::ones({rows, features}, torch::TensorOptions(torch::kFloat).device(device));
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round <= kRounds; ++round) {
    const double begin = monotonic_seconds();
    (void)x.t().mm(x)[0][0].item();  // waits for it
    if (round > 0) least = std::min(least, monotonic_seconds() - begin);
  }
  const double operations = 2.0 * static_cast<double>(rows * features * features);
  return operations / (kReference * least);
}

void wait_for(const c10::Device& device) {
  if (device.is_cpu()) return;
  c10::impl::VirtualGuardImpl(device.type()).getStream(device).synchronize();
}

std::optional<std::int64_t> peak_memory(const c10::Device& device) {
  if (device.is_cpu() || !device.has_index()) return std::nullopt;
  auto* allocator = dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(device.type()));
  if (allocator == nullptr || !allocator->initialized()) return std::nullopt;
  constexpr auto kAll = static_cast<std::size_t>(c10::CachingDeviceAllocator::StatType::AGGREGATE);
  return allocator->getDeviceStats(device.index()).allocated_bytes.at(kAll).peak;
}

}  // namespace kappascope::tensor
