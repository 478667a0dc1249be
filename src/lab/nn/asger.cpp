// SPDX-License-Identifier: Apache-2.0
#include "lab/nn/asger.h"

#include <torch/nn/modules/linear.h>
#include <torch/types.h>

#include <cmath>

#include "core/require.h"
#include "lab/nn/down_projection.h"

namespace kappascope::nn {

int64_t asger_hidden(const AsgerOptions& options) {
  const auto d = options.width(), limit = 3 * d * options.hidden();
  if (!options.balanced() || !options.spatial()) return options.hidden();
  const auto count = [&](int64_t f) { return 3 * d * f + 2 * f * f; };
  // The positive root of count(f) = limit, then exactly.
  const auto half = 0.75 * static_cast<double>(d);
  auto f = static_cast<int64_t>(std::sqrt(half * half + static_cast<double>(limit) / 2) - half);
  while (count(f) > limit) --f;
  while (count(f + 1) <= limit) ++f;
  require(f > 0, "no balanced width below the weights of {} x {}", d, options.hidden());
  return f;
}

AsgerImpl::AsgerImpl(const AsgerOptions& options_) : options(options_) {
  check_feed_forward("ASGER", options.width(), options.hidden(), options.dropout());
  require(options.alpha() >= 0 && options.beta() > 0,
          "ASGER needs alpha of at least 0 and a positive beta, got {} and {}",
          options.alpha(),
          options.beta());
  require(!options.learn_alpha() || options.alpha() > 0,
          "a learnt alpha starts above 0, got {}",
          options.alpha());
  AsgerImpl::reset();
}

void AsgerImpl::reset() {
  const auto hidden = asger_hidden(options);
  const auto plain = [&](int64_t in) {
    return torch::nn::Linear(torch::nn::LinearOptions(in, hidden).bias(false));
  };
  gate_proj = register_module("gate_proj", plain(options.width()));
  up_proj = register_module("up_proj", plain(options.width()));
  if (options.spatial()) {
    spatial_gate_proj = register_module("spatial_gate_proj", plain(hidden));
    spatial_up_proj = register_module("spatial_up_proj", plain(hidden));
  }
  down_proj = register_module(
      "down_proj", down_projection(hidden, options.width(), options.bias(), options.dropout()));
  if (options.learn_alpha()) {
    log_alpha = register_parameter("log_alpha", torch::tensor(std::log(options.alpha())));
  }
  if (options.learn_beta()) {
    log_beta = register_parameter("log_beta", torch::tensor(std::log(options.beta())));
  }
}

torch::Tensor AsgerImpl::forward(const torch::Tensor& x) {
  const auto g = gate_proj->forward(x);
  const auto sigma = torch::sigmoid(log_beta.defined() ? log_beta.exp() * g : options.beta() * g);
  torch::Tensor gate;
  if (log_alpha.defined()) {
    const auto alpha = log_alpha.exp();
    gate = sigma * (1 + 2 * alpha) - alpha;
  } else {
    gate = sigma * (1 + 2 * options.alpha()) - options.alpha();
  }
  auto s = up_proj->forward(x);
  if (options.spatial()) {
    s = torch::silu(spatial_gate_proj->forward(s)) * spatial_up_proj->forward(s);
  }
  return down_proj->forward(torch::dropout(gate * s, options.dropout(), is_training()));
}

}  // namespace kappascope::nn
