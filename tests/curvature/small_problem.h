// SPDX-License-Identifier: Apache-2.0
// A gated MLP small enough for its dense Hessian, and what the tests ask of operators.
#pragma once

#include <torch/nn/functional/loss.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <Eigen/Eigenvalues>
#include <memory>
#include <vector>

#include "kappascope/curvature/operators.h"
#include "support/gated_stack.h"
#include "tensor/convert.h"

namespace kappascope::test {

struct Problem {
  testing::GatedStack model{nullptr};
  at::Tensor x, labels;
};

/// 5 inputs, width 4, 2 blocks of d_ff 6, 3 classes, 40 rows, in double; weights of size ½, so that
/// the Hessian is indefinite.
inline Problem small_problem(testing::Gate gate = testing::Gate::kSwiglu, double dropout = 0) {
  torch::manual_seed(11);
  Problem p;
  p.model = testing::GatedStack(testing::GatedStackOptions(5, 3)
                                    .width(4)
                                    .hidden(6)
                                    .blocks(2)
                                    .gate(gate)
                                    .post_gating_bias(true)
                                    .output_bias(true)
                                    .dropout(dropout));
  p.model->to(torch::kDouble);
  torch::NoGradGuard no_grad;
  for (auto& parameter : p.model->parameters()) parameter.normal_(0, 0.5);
  p.x = torch::randn({40, 5}, torch::kDouble);
  p.labels = torch::randint(3, {40}, torch::kLong);
  return p;
}

/// The same with weights and inputs rounded to `type`, and in that type.
inline Problem in_type(const Problem& p, torch::ScalarType type) {
  Problem q = p;
  q.model = std::dynamic_pointer_cast<testing::GatedStackImpl>(p.model->clone());
  q.model->to(type);
  q.x = p.x.to(type);
  return q;
}

inline at::Tensor cross_entropy(Problem& p) {
  return torch::nn::functional::cross_entropy(p.model->forward(p.x), p.labels);
}

/// [rows]
inline at::Tensor row_losses(Problem& p) {
  return torch::nn::functional::cross_entropy(
      p.model->forward(p.x),
      p.labels,
      torch::nn::CrossEntropyLossOptions().reduction(torch::kNone));
}

inline Eigen::MatrixXd dense(const curvature::CurvatureOperator& op) {
  return curvature::to_dense(curvature::as_linear(op));
}

inline Eigen::VectorXd eigenvalues(const Eigen::MatrixXd& m) {
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(m, Eigen::EigenvaluesOnly).eigenvalues();
}

/// Largest magnitude of an eigenvalue.
inline double operator_norm(const Eigen::MatrixXd& m) {
  return eigenvalues(m).cwiseAbs().maxCoeff();
}

/// The largest error of products with random vectors, relative to ‖matrix‖ ‖v‖.
inline double product_error(const curvature::CurvatureOperator& op, const Eigen::MatrixXd& matrix) {
  auto generator = at::detail::createCPUGenerator(4);
  const double norm = operator_norm(matrix);
  double worst = 0;
  for (int i = 0; i < 10; ++i) {
    const auto v = torch::randn({op.size()}, generator, torch::kDouble);
    const Eigen::VectorXd x = tensor::to_vector(v);
    const Eigen::VectorXd error = tensor::to_vector(op.apply(v)) - matrix * x;
    const double relative = error.norm() / (norm * x.norm());
    worst = relative <= worst ? worst : relative;  // NaN comes through
  }
  return worst;
}

inline curvature::OperatorOptions by(curvature::ProductKind kind) {
  curvature::OperatorOptions options;
  options.product = kind;
  return options;
}

/// Each of them, of the whole model.
inline std::vector<std::unique_ptr<curvature::CurvatureOperator>> every_operator(
    Problem& p, curvature::ProductKind kind) {
  const auto parameters = curvature::select_parameters(*p.model);
  const auto outputs = [&p] { return p.model->forward(p.x); };
  const auto losses = [&p] { return row_losses(p); };
  std::vector<std::unique_ptr<curvature::CurvatureOperator>> all;
  all.push_back(curvature::hessian([&p] { return cross_entropy(p); }, parameters, by(kind)));
  all.push_back(
      curvature::gauss_newton(outputs, curvature::OutputLoss::kCrossEntropy, parameters, by(kind)));
  all.push_back(
      curvature::gauss_newton(outputs, curvature::OutputLoss::kSquared, parameters, by(kind)));
  all.push_back(curvature::empirical_fisher(losses, parameters, by(kind)));
  all.push_back(curvature::gradient_covariance(losses, parameters, by(kind)));
  return all;
}

}  // namespace kappascope::test
