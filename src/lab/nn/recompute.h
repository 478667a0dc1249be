// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace kappascope::nn {

/// block(x), of whose intermediate values none is kept: the backward pass runs the block once more,
/// from the same random state (Chen et al. 2016, "Training deep nets with sublinear memory cost").
/// Value and gradients are those of block(x) to the last bit. The first run records no gradients,
/// so a tap that looks at what records them sees each token once.
///
/// `parameters`: all that the block learns, none of which x depends on. `block` may be called as
/// long as the graph lives. A second derivative is exact too; its graph keeps the intermediate
/// values of the second run. Costs one forward pass more.
at::Tensor recomputed(std::function<at::Tensor(const at::Tensor&)> block,
                      const at::Tensor& x,
                      const std::vector<at::Tensor>& parameters);

}  // namespace kappascope::nn
