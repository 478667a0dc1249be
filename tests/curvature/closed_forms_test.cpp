// SPDX-License-Identifier: Apache-2.0
// Curvature that is known on paper, and what must not change it.
#include <torch/nn/functional/loss.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <string>

#include "curvature/small_problem.h"
#include "support/catch.h"

using namespace kappascope;
using namespace kappascope::test;

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

TEST_CASE("permuting hidden units leaves the spectrum") {
  auto p = small_problem();
  const auto parameters = curvature::select_parameters(*p.model);
  const auto loss = [&] { return cross_entropy(p); };
  const auto before = dense(*curvature::hessian(loss, parameters));
  {
    const torch::NoGradGuard no_grad;
    const auto order = torch::tensor({3, 0, 5, 1, 4, 2}, torch::kLong);
    // What stands on the hidden units: the rows of gate and up, the columns of down, the bias b.
    for (const auto& item : parameters) {
      const auto& [name, value] = item;
      if (name.rfind("blocks.0.", 0) != 0) continue;
      for (int64_t axis = 0; axis < value.dim(); ++axis)
        if (value.size(axis) == 6) value.copy_(value.index_select(axis, order));
    }
  }
  const auto after = dense(*curvature::hessian(loss, parameters));
  CHECK((before - after).norm() > 1e-3 * before.norm());
  CHECK((eigenvalues(before) - eigenvalues(after)).cwiseAbs().maxCoeff() <
        1e-12 * operator_norm(before));
}

TEST_CASE("rescaling the loss rescales the spectrum") {
  auto p = small_problem();
  const auto parameters = curvature::select_parameters(*p.model);
  const auto once = dense(*curvature::hessian([&] { return cross_entropy(p); }, parameters));
  const auto scaled =
      dense(*curvature::hessian([&] { return 1000 * cross_entropy(p); }, parameters));
  CHECK((scaled - 1000 * once).norm() < 1e-12 * scaled.norm());
}

TEST_CASE("the spectrum of a block interlaces with that of the whole") {
  auto p = small_problem();
  const auto loss = [&] { return cross_entropy(p); };
  const auto whole =
      eigenvalues(dense(*curvature::hessian(loss, curvature::select_parameters(*p.model))));
  for (const std::string pattern : {"blocks.*.down_proj.*", "head.*", "blocks.0.*"}) {
    CAPTURE(pattern);
    const auto block = eigenvalues(
        dense(*curvature::hessian(loss, curvature::select_parameters(*p.model, pattern))));
    const double slack = 1e-12 * whole.cwiseAbs().maxCoeff();
    const auto gone = whole.size() - block.size();
    REQUIRE(gone > 0);
    // Cauchy: λ_i(whole) <= λ_i(block) <= λ_{i + gone}(whole), ascending.
    for (Eigen::Index i = 0; i < block.size(); ++i) {
      CHECK(whole[i] <= block[i] + slack);
      CHECK(block[i] <= whole[i + gone] + slack);
    }
  }
}
