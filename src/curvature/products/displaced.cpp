// SPDX-License-Identifier: Apache-2.0
#include "curvature/products/displaced.h"

#include <torch/types.h>
#include <torch/utils.h>

namespace kappascope::curvature {

Displaced::Displaced(const std::vector<at::Tensor>& parameters) {
  for (const auto& parameter : parameters) {
    values_.push_back(parameter.variable_data());
    saved_.push_back(values_.back().clone());
  }
}

Displaced::~Displaced() {
  for (std::size_t i = 0; i < values_.size(); ++i) values_[i].copy_(saved_[i]);
}

void Displaced::move(const at::Tensor& v, double h) {
  const torch::NoGradGuard no_grad;
  int64_t begin = 0;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const auto part = v.narrow(0, begin, values_[i].numel()).view(values_[i].sizes());
    values_[i].copy_(saved_[i] + part.to(values_[i].device()) * h);
    begin += values_[i].numel();
  }
}

}  // namespace kappascope::curvature
