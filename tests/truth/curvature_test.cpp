// SPDX-License-Identifier: Apache-2.0
// Curvature that others have: closed forms, and a training run of the edge of stability.
#include <torch/nn/functional/loss.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <array>
#include <cmath>
#include <vector>

#include "curvature/small_problem.h"
#include "kappascope/curvature/spectrum.h"
#include "support/catch.h"
#include "truth/chebyshev_weights.h"

using namespace kappascope;
using namespace kappascope::test;

namespace {

/// The task "chebyshev-5-20" with the network "regression" and the loss "mse" of Cohen, Kaur, Li,
/// Kolter and Talwalkar 2021 ("Gradient descent on neural networks typically occurs at the edge of
/// stability"), as their repository locuslab/edge-of-stability defines it at seed 0: T_5 at 20
/// points of [-1, 1] by a tanh(w x + b), 100 wide, under half the mean square, by gradient descent
/// at a rate of 0.3 in float32.
class Chebyshev {
 public:
  static constexpr double kRate = 0.3;

  Chebyshev() {
    torch::manual_seed(0);
    hidden_ = torch::nn::Linear(1, 100);
    out_ = torch::nn::Linear(torch::nn::LinearOptions(100, 1).bias(false));
    torch::nn::init::xavier_normal_(hidden_->weight, 1.9);
    torch::nn::init::zeros_(hidden_->bias);
    torch::nn::init::xavier_normal_(out_->weight);
    // T_n(x) = 2 x T_{n-1}(x) - T_{n-2}(x)
    const auto x = x_.to(torch::kDouble);
    auto before = torch::ones_like(x), now = x;
    for (int n = 2; n <= 5; ++n) {
      const auto next = 2 * x * now - before;
      before = now;
      now = next;
    }
    y_ = now.to(torch::kFloat);
  }

  at::Tensor loss() {
    return 0.5 * (out_->forward(torch::tanh(hidden_->forward(x_))) - y_).square().sum() / 20;
  }
  /// Gradient descent.
  void step(int count) {
    for (; count > 0; --count) {
      const auto gradients = torch::autograd::grad({loss()}, weights());
      const torch::NoGradGuard no_grad;
      for (std::size_t i = 0; i < gradients.size(); ++i) weights()[i].sub_(gradients[i], kRate);
    }
  }
  /// Goes to where the problem's own program was after 14,000 steps.
  void load_weights() {
    const torch::NoGradGuard no_grad;
    const auto all = torch::tensor(at::ArrayRef<float>(kChebyshevWeights));
    for (int64_t i = 0; i < 3; ++i) {
      const auto mine = weights()[static_cast<std::size_t>(i)];
      mine.copy_(all.narrow(0, 100 * i, 100).view_as(mine));
    }
  }
  /// The three largest eigenvalues of the Hessian, each within its bound.
  linalg::ExtremeEigenvalues spectrum() {
    const auto op = curvature::hessian(
        [this] { return loss(); },
        {{"hidden", hidden_->weight}, {"bias", hidden_->bias}, {"out", out_->weight}});
    return curvature::eigenpairs(*op, {.top = 3, .tolerance = 1e-5}).found;
  }

 private:
  [[nodiscard]] std::vector<at::Tensor> weights() const {
    return {hidden_->weight, hidden_->bias, out_->weight};
  }

  at::Tensor x_ = torch::linspace(-1, 1, 20).unsqueeze(1), y_;
  torch::nn::Linear hidden_{nullptr}, out_{nullptr};
};

/// `printed`: with four digits behind the point.
void check_eigenvalues(const linalg::ExtremeEigenvalues& found,
                       const std::array<double, 3>& printed) {
  REQUIRE(found.eigenvalues.size() == 3);
  CHECK(found.status == linalg::KrylovStatus::kConverged);
  for (Eigen::Index i = 0; i < 3; ++i) {
    CAPTURE(i, found.eigenvalues[i]);
    CHECK(std::abs(found.eigenvalues[i] - printed.at(i)) <= 5e-5 + found.bounds()[i]);
  }
}

}  // namespace

// Logistic and softmax regression: the formulas of noahgolmant/pytorch-hessian-eigenthings
// (tests/test_analytic_hessian.py). The Hessian of a row is x xᵀ times, or Kronecker, that of its
// loss by the logits, p (1 - p) or diag(p) - ppᵀ, as logits are linear in the weights.

TEST_CASE("logistic regression: Hessian and Gauss-Newton are Xᵀ diag(p (1 - p)) X / n") {
  torch::manual_seed(5);
  const auto x = torch::randn({60, 4}, torch::kDouble);
  const auto y = torch::randint(2, {60}, torch::kLong).to(torch::kDouble);
  const auto w = torch::randn({4}, torch::kDouble).requires_grad_();
  const auto p = torch::sigmoid(x.mv(w)).detach();
  const Eigen::MatrixXd want = tensor::to_matrix(x.t().mm((p * (1 - p)).unsqueeze(1) * x)) / 60;
  const auto logits = [&] { return x.mv(w); };
  const auto hessian = curvature::hessian(
      [&] { return torch::binary_cross_entropy_with_logits(logits(), y); }, {{"w", w}});
  CHECK((dense(*hessian) - want).norm() < 1e-13 * want.norm());
  // As softmax over the logits (0, x·w).
  const auto newton = curvature::gauss_newton(
      [&] {
        return torch::stack({torch::zeros({60}, torch::kDouble), logits()}, 1);
      },
      curvature::OutputLoss::kCrossEntropy,
      {{"w", w}});
  CHECK((dense(*newton) - want).norm() < 1e-13 * want.norm());
}

TEST_CASE("softmax regression: Hessian and Gauss-Newton are Σ (diag(p) - ppᵀ) ⊗ xxᵀ / n") {
  torch::manual_seed(6);
  const int64_t n = 30, d = 4, classes = 3;
  const auto x = torch::randn({n, d}, torch::kDouble);
  const auto labels = torch::randint(classes, {n}, torch::kLong);
  const auto w = torch::randn({classes, d}, torch::kDouble).requires_grad_();
  const Eigen::MatrixXd p = tensor::to_matrix(torch::softmax(x.mm(w.t()), 1).detach());
  const Eigen::MatrixXd inputs = tensor::to_matrix(x);
  Eigen::MatrixXd want = Eigen::MatrixXd::Zero(classes * d, classes * d);
  for (int64_t i = 0; i < n; ++i) {
    const Eigen::MatrixXd outer = inputs.row(i).transpose() * inputs.row(i) / double(n);
    for (int64_t k = 0; k < classes; ++k)
      for (int64_t l = 0; l < classes; ++l)
        want.block(k * d, l * d, d, d) +=
            (k == l ? p(i, k) : 0.0) * outer - p(i, k) * p(i, l) * outer;
  }
  const auto logits = [&] { return x.mm(w.t()); };
  CHECK((dense(*curvature::hessian(
             [&] { return torch::nn::functional::cross_entropy(logits(), labels); }, {{"w", w}})) -
         want)
            .norm() < 1e-13 * want.norm());
  CHECK((dense(*curvature::gauss_newton(logits, curvature::OutputLoss::kCrossEntropy, {{"w", w}})) -
         want)
            .norm() < 1e-13 * want.norm());
}

TEST_CASE("the Chebyshev problem sharpens as its own program says, to beyond 2 / rate") {
  Chebyshev problem;
  // Made by the definition in PyTorch, with dense eigenvalues; in double they are the same digits.
  check_eigenvalues(problem.spectrum(), {4.0321, 2.0610, 0.0503});
  problem.step(1000);
  check_eigenvalues(problem.spectrum(), {6.1018, 2.8371, 0.2914});
  // As their eigsh has them.
  problem.load_weights();
  const auto found = problem.spectrum();
  check_eigenvalues(found, {6.8679, 6.5413, 1.3981});
  CHECK(found.eigenvalues[0] > 2 / Chebyshev::kRate);
  CHECK(found.eigenvalues[1] < 2 / Chebyshev::kRate);
}
