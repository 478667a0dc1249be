// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <string>
#include <vector>

namespace kappascope::train {

/// Throws UsageError unless `name` is cpu, cuda, cuda:0, cuda:1, ... or auto.
void require_device_name(const std::string& name);

/// The device of that name; cuda: the current one of this thread, which is the first one unless the
/// caller has set another, as each process under torchrun does; auto: the same, or the host where
/// there is none. Throws Error where the device is not there.
c10::Device device_named(const std::string& name);

/// For each of the `count` CUDA devices that this process sees, the CUDA_VISIBLE_DEVICES of a
/// process that is to see that one alone. `visible`: this process's own CUDA_VISIBLE_DEVICES, null
/// where it has none.
std::vector<std::string> single_devices(std::int64_t count, const char* visible);

}  // namespace kappascope::train
