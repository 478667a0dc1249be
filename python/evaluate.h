// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace kappascope {

/// The value, with its graph, of the callable that Python keeps under the number `source`, for the
/// batch of that number (kappascope/_losses.py).
at::Tensor evaluate(std::int64_t source, std::int64_t batch = 0);

}  // namespace kappascope
