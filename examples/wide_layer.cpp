// SPDX-License-Identifier: Apache-2.0
// The condition numbers of a wide layer whose features come in batches: 2,048 of them.
#include <fmt/format.h>
#include <torch/torch.h>

#include "kappascope/tensor/kappa.h"

using namespace kappascope;

int main() {
  torch::manual_seed(1);
  torch::NoGradGuard no_grad;
  const int64_t width = 2048;
  torch::nn::Linear up(64, width), gate(64, width);

  // Sums of float products, merged into double; they hold one covariance, whatever the rows.
  tensor::MomentAccumulator moments(width);
  for (int batch = 0; batch < 12; ++batch) {
    const auto x = torch::randn({512, 64});
    moments.update(up->forward(x) * torch::silu(gate->forward(x)));
  }

  // From 1,024 features on: a Cholesky factor and Lanczos in place of an eigendecomposition.
  const auto found = tensor::kappa(moments);
  for (const auto* kappa : {&found.sigma, &found.second_moment}) {
    fmt::print("{:.4g} in [{:.3g}, {:.3g}]: {} {}\n",
               kappa->value,
               kappa->lower,
               kappa->upper,
               linalg::to_string(kappa->resolution),
               kappa->reason);
  }
  fmt::print("{} products by {}\n", found.products, linalg::to_string(found.route));
  return found.route == linalg::Route::kFactorisation ? 0 : 1;
}
