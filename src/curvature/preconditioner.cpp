// SPDX-License-Identifier: Apache-2.0
#include "kappascope/curvature/preconditioner.h"

#include <torch/types.h>

#include <cmath>

#include "kappascope/core/require.h"

namespace kappascope::curvature {

double momentum_limit(double rate, double momentum) {
  return (2 + 2 * momentum) / rate;
}

double adam_limit(double rate, double beta1) {
  return (2 + 2 * beta1) / ((1 - beta1) * rate);
}

Preconditioner adam_preconditioner(const AdamMoments& moments) {
  require(moments.steps > 0, "Adam has no second moments before its first step");
  require(!moments.second.empty(), "Adam's second moments of no parameter were given");
  const torch::NoGradGuard no_grad;
  const auto steps = static_cast<double>(moments.steps);
  const double first = 1 - std::pow(moments.beta1, steps);
  const double second = 1 - std::pow(moments.beta2, steps);
  std::vector<at::Tensor> scales;
  scales.reserve(moments.second.size());
  for (const auto& v : moments.second) {
    // In double: v may lie below the smallest float32 whose root is exact.
    const auto diagonal = first * ((v.to(torch::kDouble) / second).sqrt() + moments.eps);
    scales.push_back(diagonal.rsqrt().flatten());
  }
  return {torch::cat(scales), adam_limit(moments.rate, moments.beta1)};
}

}  // namespace kappascope::curvature
