// SPDX-License-Identifier: Apache-2.0
// The five largest Hessian eigenvalues of a loss, with residuals.
#include <fmt/format.h>
#include <torch/torch.h>

#include "kappascope/curvature/spectrum.h"

using namespace kappascope;

int main() {
  torch::manual_seed(1);
  torch::nn::Sequential model(
      torch::nn::Linear(8, 32), torch::nn::SiLU(), torch::nn::Linear(32, 1));
  const auto x = torch::randn({512, 8});
  const auto y = x.narrow(1, 0, 1) * x.narrow(1, 1, 1);
  const auto loss = [&] { return torch::mse_loss(model->forward(x), y); };

  const auto hessian = curvature::hessian(loss, curvature::select_parameters(*model));
  linalg::LanczosOptions options;
  options.top = 5;
  options.which = linalg::SpectrumEnd::kLargest;
  const auto found = curvature::eigenpairs(*hessian, options).found;

  // Each eigenvalue lies within its bound of a true one.
  const auto bounds = found.bounds();
  for (Eigen::Index i = 0; i < found.eigenvalues.size(); ++i)
    fmt::print("lambda_{} = {:.5f} +- {:.1g}\n", i + 1, found.eigenvalues[i], bounds[i]);
  fmt::print("{} after {} products\n", linalg::to_string(found.status), found.products);
  return found.status == linalg::KrylovStatus::kConverged ? 0 : 1;
}
