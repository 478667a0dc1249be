// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/modules/linear.h>

namespace kappascope::nn {

/// A linear layer whose bias starts at zero and takes no random number, so that models that differ
/// in biases start from the same weights.
torch::nn::Linear linear(int64_t in, int64_t out, bool bias);

}  // namespace kappascope::nn
