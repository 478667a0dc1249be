// SPDX-License-Identifier: Apache-2.0
#include <torch/nn/modules/linear.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <memory>

#include "kappascope/core/error.h"
#include "kappascope/curvature/operators.h"
#include "kappascope/nn/tapped_linear.h"
#include "support/catch.h"
#include "tensor/convert.h"

using namespace kappascope;

TEST_CASE("eliminating the intercept from the joint Hessian leaves I ⊗ Σ") {
  torch::manual_seed(5);
  const int64_t n = 60, d = 4, m = 3;
  const auto phi =
      torch::randn({n, d}, torch::kDouble) + torch::tensor({3.0, 0.0, -1.0, 0.5}, torch::kDouble);
  const auto target = torch::randn({n, m}, torch::kDouble);
  torch::nn::Linear layer(d, m);  // weight [m, d] first, then the intercept [m]
  layer->to(torch::kDouble);
  const auto schur = curvature::schur_complement(
      curvature::hessian(
          [&] { return (layer->forward(phi) - target).square().sum(-1).mean().mul(0.5); },
          curvature::select_parameters(*layer)),
      m);
  const auto centred = phi - phi.mean(0);
  const Eigen::MatrixXd sigma =
      tensor::to_matrix(centred.t().matmul(centred)) / static_cast<double>(n);
  Eigen::MatrixXd want = Eigen::MatrixXd::Zero(m * d, m * d);
  for (int64_t k = 0; k < m; ++k) want.block(k * d, k * d, d, d) = sigma;
  CHECK((curvature::to_dense(curvature::as_linear(*schur)) - want).norm() < 1e-13 * want.norm());
}

TEST_CASE("the joint Hessian of weights and post-gating bias has the blocks of Proposition 1") {
  torch::manual_seed(6);
  const int64_t n = 50, d = 4, m = 3;
  const auto phi = torch::randn({n, d}, torch::kDouble) + 1;
  const auto target = torch::randn({n, m}, torch::kDouble) + 2;  // E[residual] is not zero
  nn::TappedLinear layer(nn::TappedLinearOptions(d, m).bias(false).post_gating_bias(true));
  layer->to(torch::kDouble);
  {
    const torch::NoGradGuard no_grad;
    layer->post_gating_bias.copy_(torch::randn({d}, torch::kDouble));
  }
  const auto op = curvature::hessian(
      [&] { return (layer->forward(phi) - target).square().sum(-1).mean().mul(0.5); },
      curvature::select_parameters(*layer));
  const auto joint = curvature::to_dense(curvature::as_linear(*op));

  const Eigen::MatrixXd weight = tensor::to_matrix(layer->weight);  // [m, d]
  const Eigen::VectorXd b = tensor::to_vector(layer->post_gating_bias);
  const Eigen::MatrixXd y = tensor::to_matrix(phi).rowwise() + b.transpose();
  const Eigen::VectorXd mean_y = y.colwise().mean();
  const Eigen::VectorXd residual =
      (y * weight.transpose() - tensor::to_matrix(target)).colwise().mean();
  Eigen::MatrixXd want = Eigen::MatrixXd::Zero(m * d + d, m * d + d);
  for (int64_t k = 0; k < m; ++k) {
    want.block(k * d, k * d, d, d) = y.transpose() * y / static_cast<double>(n);
    Eigen::MatrixXd cross = mean_y * weight.row(k);
    cross.diagonal().array() += residual(k);
    want.block(k * d, m * d, d, d) = cross;
    want.block(m * d, k * d, d, d) = cross.transpose();
  }
  want.bottomRightCorner(d, d) = weight.transpose() * weight;
  CHECK((joint - want).norm() < 1e-13 * want.norm());
  // Without the residual's part it would be another matrix.
  CHECK(residual.norm() > 0.1);
}

TEST_CASE("a singular block is eliminated by its pseudo-inverse") {
  // The last two coordinates are one.
  const auto matrix =
      torch::tensor({2., 1., 1., 1., 1., 1., 1., 1., 1.}, torch::kDouble).view({3, 3});
  const auto w = torch::ones({3}, torch::requires_grad().dtype(torch::kDouble));
  const std::shared_ptr<const curvature::CurvatureOperator> joint =
      curvature::hessian([&] { return w.dot(matrix.mv(w)) / 2; }, {{"w", w}});
  const auto schur = curvature::schur_complement(joint, 2);
  CHECK(schur->size() == 1);
  CHECK(curvature::to_dense(curvature::as_linear(*schur))(0, 0) == Approx(1).margin(1e-14));
  CHECK_THROWS_AS(curvature::schur_complement(joint, 3), Error);
}

TEST_CASE("the noise of a Schur complement's products knows of the cancellation") {
  // Features far from the origin: Σ + μμᵀ is a thousand times Σ.
  torch::manual_seed(7);
  const int64_t n = 200, d = 30;
  const auto phi = torch::randn({n, d}, torch::kDouble) + 20;
  const auto complement = [&](torch::ScalarType type) {
    torch::nn::Linear layer(d, 1);
    layer->to(type);
    const auto x = phi.to(type);
    return curvature::schur_complement(
        curvature::hessian([layer, x]() mutable { return layer->forward(x).square().mean() / 2; },
                           curvature::select_parameters(*layer)),
        1);
  };
  const auto low = complement(torch::kFloat), high = complement(torch::kDouble);
  const double norm = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(
                          curvature::to_dense(curvature::as_linear(*high)))
                          .eigenvalues()
                          .cwiseAbs()
                          .maxCoeff();
  double worst = 0;
  for (int i = 0; i < 20; ++i) {
    const auto v = torch::randn({d}, torch::kDouble);
    const auto error = (low->apply(v).to(torch::kDouble) - high->apply(v)).norm();
    worst = std::max(worst, error.item<double>() / (norm * v.norm().item<double>()));
  }
  CHECK(low->vectors().dtype() == torch::kFloat);
  CHECK(worst < low->product_noise());
  // The noise of the joint operator would be a false promise.
  CHECK(worst > 16 * 0x1p-24);
  CHECK(low->product_noise() < 0.1);
}
