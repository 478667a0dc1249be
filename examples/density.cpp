// SPDX-License-Identifier: Apache-2.0
// The spectral density of the Hessian of a loss over a data set that comes in batches.
#include <fmt/format.h>
#include <torch/torch.h>

#include "kappascope/curvature/data_set.h"
#include "kappascope/curvature/spectrum.h"

using namespace kappascope;

int main() {
  torch::manual_seed(1);
  torch::nn::Sequential model(
      torch::nn::Linear(8, 16), torch::nn::SiLU(), torch::nn::Linear(16, 1));
  const auto x = torch::randn({1000, 8});
  const auto y = x.narrow(1, 0, 1) * x.narrow(1, 1, 1);

  // Batch i's mean loss, and the rows of each batch; the last one is smaller.
  const auto batch = [&](int64_t i) {
    const auto rows = i < 3 ? 300 : 100;
    return torch::mse_loss(model->forward(x.narrow(0, 300 * i, rows)), y.narrow(0, 300 * i, rows));
  };
  const auto hessian =
      curvature::hessian({batch, {300, 300, 300, 100}}, curvature::select_parameters(*model));
  const auto density = curvature::spectral_density(*hessian);

  fmt::print("negative eigenvalues: {:.1f} % [{:.1f}, {:.1f}]\n",
             100 * density.negative_mass.value,
             100 * density.negative_mass.lower,
             100 * density.negative_mass.upper);
  fmt::print("the bulk lies in [{:.4f}, {:.4f}]; outside it:", density.bulk_low, density.bulk_high);
  for (const auto& outlier : density.outliers) fmt::print(" {:.4f}", outlier.value);
  fmt::print("\n");
  return density.status == linalg::KrylovStatus::kConverged ? 0 : 1;
}
