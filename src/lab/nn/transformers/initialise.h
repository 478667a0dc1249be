// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/module.h>

namespace kappascope::nn {

/// Draws every matrix and embedding below `module` from a normal distribution, in the order of
/// registration; then what an IsoGMLP starts orthogonal. Biases and norms stay as they are.
void initialise(torch::nn::Module& module, double deviation);

}  // namespace kappascope::nn
