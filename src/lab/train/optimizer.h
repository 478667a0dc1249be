// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/optim/optimizer.h>

#include <memory>
#include <vector>

#include "kappascope/tensor/state.h"
#include "lab/train/config.h"

namespace torch::nn {
class Module;
}

namespace kappascope::train {

/// The optimiser that a configuration names, over `parameters`. Adam and AdamW are those of
/// LibTorch, in state and options, but step by its fused kernels: one pass over
/// the memory of a tensor, where LibTorch's own step is eight operations one after another.
std::unique_ptr<torch::optim::Optimizer> make_optimizer(const TrainConfig& config,
                                                        const std::vector<at::Tensor>& parameters);

/// The same over all parameters of a model, of which those decay that config.decay_of says.
std::unique_ptr<torch::optim::Optimizer> make_optimizer(const TrainConfig& config,
                                                        const torch::nn::Module& model);

/// Bytes that it holds for a parameter from its first step on.
double optimizer_bytes(const TrainConfig& config);

/// What `optimizer`, one of make_optimizer, has summed up: by the dotted name of each parameter,
/// the moments and the number of steps.
tensor::State optimizer_state(const torch::optim::Optimizer& optimizer,
                              const torch::nn::Module& model);

/// Takes them over. Throws Error where they are not those of such an optimiser for such a model.
void load_optimizer(const tensor::State& state,
                    torch::optim::Optimizer& optimizer,
                    const torch::nn::Module& model);

}  // namespace kappascope::train
