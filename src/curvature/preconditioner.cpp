// SPDX-License-Identifier: Apache-2.0
#include "kappascope/curvature/preconditioner.h"

#include <torch/types.h>

#include <cmath>

#include "core/require.h"

namespace kappascope::curvature {
namespace {

/// The diagonal of P^(-1/2) for P = factor · (√(v / correction) + ε). In double: v may lie below
/// the smallest float32 whose root is exact.
at::Tensor scale_of(const std::vector<at::Tensor>& second,
                    double factor,
                    double correction,
                    double eps) {
  const torch::NoGradGuard no_grad;
  std::vector<at::Tensor> scales;
  scales.reserve(second.size());
  for (const auto& v : second) {
    const auto diagonal = factor * ((v.to(torch::kDouble) / correction).sqrt() + eps);
    scales.push_back(diagonal.rsqrt().flatten());
  }
  return torch::cat(scales);
}

}  // namespace

double momentum_limit(double rate, double momentum) {
  return (2 + 2 * momentum) / rate;
}

double adam_limit(double rate, double beta1) {
  return (2 + 2 * beta1) / ((1 - beta1) * rate);
}

Preconditioner adam_preconditioner(const AdamMoments& moments) {
  require(moments.steps > 0, "Adam has no second moments before its first step");
  require(!moments.second.empty(), "Adam's second moments of no parameter were given");
  const auto steps = static_cast<double>(moments.steps);
  const double first = 1 - std::pow(moments.beta1, steps);
  const double second = 1 - std::pow(moments.beta2, steps);
  return {scale_of(moments.second, first, second, moments.eps),
          adam_limit(moments.rate, moments.beta1)};
}

Preconditioner rmsprop_preconditioner(const RmspropMoments& moments) {
  require(!moments.second.empty(), "RMSprop's second moments of no parameter were given");
  return {scale_of(moments.second, 1, 1, moments.eps),
          momentum_limit(moments.rate, moments.momentum)};
}

}  // namespace kappascope::curvature
