// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <optional>

namespace kappascope::tensor {

/// How fast a device computes XᵀX of float rows, relative to two cores of 2024 (150 GFLOP/s), on
/// which the costs that probes presume were measured. Takes some milliseconds, and on a device
/// that was not used yet as long as its libraries take to load.
double device_speed(const c10::Device& device);

/// Returns once the device has done what it was given on its current stream.
void wait_for(const c10::Device& device);

/// The most bytes that tensors held on a device at one time, since the process began or the
/// allocator's peak was last reset (torch.cuda.reset_peak_memory_stats). Nothing for the host, a
/// device without its number, and one whose allocator keeps no peak.
std::optional<std::int64_t> peak_memory(const c10::Device& device);

}  // namespace kappascope::tensor
