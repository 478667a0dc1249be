// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/optim/optimizer.h>

#include <memory>
#include <vector>

#include "kappascope/train/config.h"

namespace kappascope::train {

/// The optimiser that a configuration names, over `parameters`. Adam and AdamW are those of
/// LibTorch, in state and in what a checkpoint holds, but step by its fused kernels: one pass over
/// the memory of a tensor, where LibTorch's own step is eight operations one after another.
std::unique_ptr<torch::optim::Optimizer> make_optimizer(const TrainConfig& config,
                                                        const std::vector<at::Tensor>& parameters);

}  // namespace kappascope::train
