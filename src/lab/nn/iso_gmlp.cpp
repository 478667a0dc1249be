// SPDX-License-Identifier: Apache-2.0
#include "lab/nn/iso_gmlp.h"

#include <torch/nn/init.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>

#include "core/require.h"
#include "lab/nn/down_projection.h"

namespace kappascope::nn {

int64_t iso_width(const IsoGmlpOptions& options) {
  if (!options.branch()) return 0;
  if (options.iso_width() > 0) return options.iso_width();
  return std::max<int64_t>(1, options.hidden() / 8);
}

IsoGmlpImpl::IsoGmlpImpl(const IsoGmlpOptions& options_) : options(options_) {
  check_feed_forward("IsoGMLP", options.width(), options.hidden(), options.dropout());
  require(options.iso_width() >= 0,
          "the branch's width must be at least 0, got {}",
          options.iso_width());
  require(!(options.orthogonal() && options.scaled()),
          "IsoGMLP starts orthogonal or from scaled normal weights, not both");
  IsoGmlpImpl::reset();
}

void IsoGmlpImpl::reset() {
  const auto width = options.width(), hidden = options.hidden(), iso = iso_width(options);
  const auto plain = [&](int64_t out) {
    return torch::nn::Linear(torch::nn::LinearOptions(width, out).bias(false));
  };
  gate_proj = register_module("gate_proj", plain(hidden));
  up_proj = register_module("up_proj", plain(hidden));
  if (options.branch()) {
    iso_proj = register_module("iso_proj", plain(iso));
    if (options.layer_norm()) {
      iso_norm =
          register_module("iso_norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({iso})));
    }
    temperature = register_parameter("temperature", torch::tensor(options.temperature()));
  }
  auto down = down_projection(hidden + iso, width, options.bias(), options.dropout());
  down->options.branch(iso);
  down_proj = register_module("down_proj", down);
  if (options.orthogonal()) orthogonalise();
  if (options.scaled()) scale();
}

void IsoGmlpImpl::orthogonalise() {
  for (const auto& layer : {gate_proj, up_proj, iso_proj}) {
    if (layer) torch::nn::init::orthogonal_(layer->weight);
  }
  torch::nn::init::orthogonal_(down_proj->weight);
}

void IsoGmlpImpl::scale() {
  const torch::NoGradGuard no_grad;
  const auto draw = [](const torch::Tensor& weight) {
    const auto side = static_cast<double>(std::max(weight.size(0), weight.size(1)));
    weight.normal_(0, 1 / std::sqrt(side));
  };
  for (const auto& layer : {gate_proj, up_proj, iso_proj}) {
    if (layer) draw(layer->weight);
  }
  draw(down_proj->weight);
}

torch::Tensor IsoGmlpImpl::forward(const torch::Tensor& x) {
  auto phi = up_proj->forward(x) * torch::gelu(gate_proj->forward(x));
  if (options.branch()) {
    auto z = iso_proj->forward(x);
    if (iso_norm) z = iso_norm->forward(z);
    phi = torch::cat({phi, z * torch::sigmoid(temperature)}, -1);
  }
  return down_proj->forward(torch::dropout(phi, options.dropout(), is_training()));
}

}  // namespace kappascope::nn
