// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "curvature/sharded.h"
#include "kappascope/curvature/operators.h"
#include "kappascope/curvature/preconditioner.h"

namespace kappascope {

/// The value, with its graph, of the callable that Python keeps under the number `source`, for the
/// batch of that number (kappascope/_losses.py).
at::Tensor evaluate(std::int64_t source, std::int64_t batch = 0);

/// The loss on outputs [rows, classes] that Python keeps under that number.
at::Tensor evaluate_on(std::int64_t source, const at::Tensor& outputs);

/// The parameters that it is differentiated by, which have these names.
curvature::NamedParameters named_parameters(std::int64_t source,
                                            const std::vector<std::string>& names);

/// Where its parameters are sharded over processes: what this one holds of each, and the gradient
/// likewise (kappascope/_processes.py).
std::vector<at::Tensor> shards(std::int64_t source);
curvature::ShardedGradient gradient(std::int64_t source);

/// What the optimiser that Python keeps under the number makes of a gradient; nothing: not before
/// its first step, or not known (kappascope/_optimizers.py).
std::optional<curvature::Preconditioner> preconditioner_of(std::int64_t source);

}  // namespace kappascope
