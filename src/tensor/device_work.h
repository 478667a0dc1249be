// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>

namespace kappascope::tensor {

/// How fast a device computes XᵀX of float rows, relative to two cores of 2024 (150 GFLOP/s), on
/// which the costs that probes presume were measured. Takes some milliseconds, and on a device
/// that was not used yet as long as its libraries take to load.
double device_speed(const c10::Device& device);

/// Returns once the device has done what it was given on its current stream.
void wait_for(const c10::Device& device);

}  // namespace kappascope::tensor
