// SPDX-License-Identifier: Apache-2.0
#include "lab/nn/transformers/initialise.h"

#include <torch/nn/module.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/utils.h>

#include "lab/nn/iso_gmlp.h"

namespace kappascope::nn {

void initialise(torch::nn::Module& module, double deviation) {
  const torch::NoGradGuard no_grad;
  const auto modules = module.modules(/*include_self=*/false);
  for (const auto& part : modules) {
    if (auto* linear = part->as<torch::nn::LinearImpl>()) linear->weight.normal_(0, deviation);
    if (auto* tapped = part->as<TappedLinearImpl>()) tapped->weight.normal_(0, deviation);
    if (auto* table = part->as<torch::nn::EmbeddingImpl>()) table->weight.normal_(0, deviation);
  }
  for (const auto& part : modules) {
    auto* iso = part->as<IsoGmlpImpl>();
    if (iso == nullptr) continue;
    if (iso->options.orthogonal()) iso->orthogonalise();
    if (iso->options.scaled()) iso->scale();
  }
}

}  // namespace kappascope::nn
