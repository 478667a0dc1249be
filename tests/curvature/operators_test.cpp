// SPDX-License-Identifier: Apache-2.0
#include "kappascope/curvature/operators.h"

#include <torch/autograd.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <Eigen/Eigenvalues>
#include <limits>

#include "curvature/small_problem.h"
#include "kappascope/core/error.h"
#include "support/catch.h"

using namespace kappascope;
using namespace kappascope::test;
using Catch::Contains;

namespace {

at::Tensor gradient(Problem& p, const curvature::NamedParameters& parameters) {
  std::vector<at::Tensor> tensors;
  for (const auto& item : parameters) tensors.push_back(item.second);
  return tensor::flatten(torch::autograd::grad({cross_entropy(p)}, tensors, {}, false, false, true),
                         tensors);
}

// The oracle goes another way: central differences of gradients, Richardson-extrapolated once, so
// that its own error is of order h⁴.
Eigen::MatrixXd difference_hessian(Problem& p, const curvature::NamedParameters& parameters) {
  torch::NoGradGuard no_grad;
  std::vector<Eigen::VectorXd> columns;
  for (const auto& item : parameters) {
    auto flat = item.second.view(-1);
    for (int64_t i = 0; i < flat.numel(); ++i) {
      const double at = flat[i].item<double>();
      const auto slope = [&](double h) -> Eigen::VectorXd {
        flat[i] = at + h;
        at::Tensor up, down;
        {
          torch::AutoGradMode grad(true);
          up = gradient(p, parameters);
        }
        flat[i] = at - h;
        {
          torch::AutoGradMode grad(true);
          down = gradient(p, parameters);
        }
        flat[i] = at;
        return tensor::to_vector((up - down) / (2 * h));
      };
      columns.emplace_back((4 * slope(1e-3) - slope(2e-3)) / 3);
    }
  }
  Eigen::MatrixXd h(columns.size(), columns.size());
  for (std::size_t j = 0; j < columns.size(); ++j) h.col(static_cast<Eigen::Index>(j)) = columns[j];
  return 0.5 * (h + h.transpose());
}

}  // namespace

TEST_CASE(
    "every eigenvalue of a gated MLP's Hessian agrees with differences of gradients to 1e-8") {
  for (const auto gate :
       {testing::Gate::kSwiglu, testing::Gate::kGeglu, testing::Gate::kBilinear}) {
    auto p = small_problem(gate);
    const auto parameters = curvature::select_parameters(*p.model);
    const auto op = curvature::hessian([&] { return cross_entropy(p); }, parameters);
    const auto dense = curvature::to_dense(curvature::as_linear(*op));
    REQUIRE(dense.rows() == op->size());
    REQUIRE(dense.rows() > 200);
    const double scale = dense.norm();
    CHECK((dense - dense.transpose()).norm() < 1e-13 * scale);
    const auto gap =
        (eigenvalues(dense) - eigenvalues(difference_hessian(p, parameters))).cwiseAbs().maxCoeff();
    CHECK(gap < 1e-8 * eigenvalues(dense).cwiseAbs().maxCoeff());
  }
}

TEST_CASE("Lanczos on the operator finds the ends of the dense spectrum") {
  auto p = small_problem();
  const auto op =
      curvature::hessian([&] { return cross_entropy(p); }, curvature::select_parameters(*p.model));
  const auto linear = curvature::as_linear(*op);
  const auto want = eigenvalues(curvature::to_dense(linear));
  linalg::LanczosOptions options;
  options.top = 3;
  options.which = linalg::SpectrumEnd::kBoth;
  options.tolerance = 1e-10;
  const auto got = linalg::lanczos(linear, options);
  REQUIRE(got.status == linalg::KrylovStatus::kConverged);
  REQUIRE(got.eigenvalues.size() == 6);
  const double scale = want.cwiseAbs().maxCoeff();
  for (int i = 0; i < 3; ++i) {
    CHECK(std::abs(got.eigenvalues[i] - want[want.size() - 1 - i]) < 1e-8 * scale);
    CHECK(std::abs(got.eigenvalues[5 - i] - want[i]) < 1e-8 * scale);
  }
}

TEST_CASE(
    "the W_d block of a linear model under squared loss is I ⊗ (Σ+μμᵀ) times the loss's factor") {
  torch::manual_seed(5);
  const int64_t n = 50, d = 4, m = 3;
  const auto phi = torch::randn({n, d}, torch::kDouble) + 1.5;
  const auto target = torch::randn({n, m}, torch::kDouble);
  torch::nn::Linear layer(torch::nn::LinearOptions(d, m).bias(false));
  layer->to(torch::kDouble);
  const auto parameters = curvature::select_parameters(*layer);
  const Eigen::MatrixXd second_moment =
      tensor::to_matrix(phi.t().matmul(phi)) / static_cast<double>(n);
  // The weight is [m, d], row by row: blocks of d on the diagonal.
  Eigen::MatrixXd want = Eigen::MatrixXd::Zero(m * d, m * d);
  for (int64_t k = 0; k < m; ++k) want.block(k * d, k * d, d, d) = second_moment;

  const auto half = [&] { return (layer->forward(phi) - target).square().sum(-1).mean().mul(0.5); };
  CHECK((curvature::to_dense(curvature::as_linear(*curvature::hessian(half, parameters))) - want)
            .norm() < 1e-13 * want.norm());
  // torch's mean over all entries: the factor is 2/m.
  const auto mse = [&] { return torch::mse_loss(layer->forward(phi), target); };
  const double factor = 2.0 / static_cast<double>(m);
  CHECK((curvature::to_dense(curvature::as_linear(*curvature::hessian(mse, parameters))) -
         factor * want)
            .norm() < 1e-13 * want.norm());
  // For a linear model Gauss-Newton is the Hessian.
  const auto ggn = curvature::gauss_newton(
      [&] { return layer->forward(phi); }, curvature::OutputLoss::kSquared, parameters);
  CHECK((curvature::to_dense(curvature::as_linear(*ggn)) - want).norm() < 1e-13 * want.norm());
}

TEST_CASE(
    "Gauss-Newton of softmax regression is its Hessian; of a gated MLP it is positive "
    "semidefinite") {
  torch::manual_seed(6);
  torch::nn::Linear layer(4, 3);
  layer->to(torch::kDouble);
  const auto x = torch::randn({30, 4}, torch::kDouble);
  const auto labels = torch::randint(3, {30}, torch::kLong);
  const auto parameters = curvature::select_parameters(*layer);
  const auto h = curvature::to_dense(curvature::as_linear(*curvature::hessian(
      [&] { return torch::nn::functional::cross_entropy(layer->forward(x), labels); },
      parameters)));
  const auto g = curvature::to_dense(curvature::as_linear(*curvature::gauss_newton(
      [&] { return layer->forward(x); }, curvature::OutputLoss::kCrossEntropy, parameters)));
  CHECK((h - g).norm() < 1e-12 * h.norm());

  auto p = small_problem();
  const auto gated = curvature::to_dense(
      curvature::as_linear(*curvature::gauss_newton([&] { return p.model->forward(p.x); },
                                                    curvature::OutputLoss::kCrossEntropy,
                                                    curvature::select_parameters(*p.model))));
  CHECK(eigenvalues(gated).minCoeff() > -1e-12 * gated.norm());
}

TEST_CASE("Gauss-Newton takes any loss of the outputs, with its own labels and reduction") {
  auto p = small_problem();
  const auto parameters = curvature::select_parameters(*p.model);
  const auto outputs = [&] { return p.model->forward(p.x); };
  const auto matrix = [&](const auto& loss) {
    return curvature::to_dense(
        curvature::as_linear(*curvature::gauss_newton(outputs, loss, parameters)));
  };
  const auto cross = matrix(curvature::OutputLoss::kCrossEntropy);
  namespace F = torch::nn::functional;
  const curvature::LossOfOutputs sum = [&](const at::Tensor& z) {
    return F::cross_entropy(z, p.labels, F::CrossEntropyFuncOptions().reduction(torch::kSum));
  };
  CHECK((matrix(sum) / 40 - cross).norm() < 1e-13 * cross.norm());
  // Rows that are ignored count for nothing: those of the first half alone.
  const curvature::LossOfOutputs half = [&](const at::Tensor& z) {
    auto labels = p.labels.clone();
    labels.narrow(0, 20, 20).fill_(-100);
    return F::cross_entropy(z, labels);
  };
  const auto first = curvature::to_dense(curvature::as_linear(
      *curvature::gauss_newton([&] { return p.model->forward(p.x.narrow(0, 0, 20)); },
                               curvature::OutputLoss::kCrossEntropy,
                               parameters)));
  CHECK((matrix(half) - first).norm() < 1e-13 * first.norm());
  // Linear in the outputs: nothing curves.
  const curvature::LossOfOutputs linear = [](const at::Tensor& z) { return z.sum(); };
  CHECK(matrix(linear).norm() == 0);
  const curvature::LossOfOutputs rows = [](const at::Tensor& z) { return z.square(); };
  CHECK_THROWS_WITH(matrix(rows), Contains("must be a scalar"));
  const curvature::LossOfOutputs none = [](const at::Tensor&) { return torch::zeros({}); };
  CHECK_THROWS_WITH(matrix(none), Contains("does not depend"));
}

TEST_CASE("the empirical Fisher and the gradients' covariance are those of the rows' gradients") {
  auto p = small_problem();
  const auto parameters = curvature::select_parameters(*p.model);
  const auto losses = [&] { return row_losses(p); };
  std::vector<at::Tensor> tensors, rows;
  for (const auto& item : parameters) tensors.push_back(item.second);
  const auto all = losses();
  for (int64_t i = 0; i < all.size(0); ++i)
    rows.push_back(
        tensor::flatten(torch::autograd::grad({all[i]}, tensors, {}, true, false, true), tensors));
  const Eigen::MatrixXd gradients = tensor::to_matrix(torch::stack(rows));
  const double count = static_cast<double>(gradients.rows());
  const Eigen::MatrixXd centred = gradients.rowwise() - gradients.colwise().mean();
  const Eigen::MatrixXd fisher = gradients.transpose() * gradients / count;
  CHECK((dense(*curvature::empirical_fisher(losses, parameters)) - fisher).norm() <
        1e-12 * fisher.norm());
  CHECK((dense(*curvature::gradient_covariance(losses, parameters)) -
         centred.transpose() * centred / count)
            .norm() < 1e-12 * fisher.norm());
  CHECK((fisher - centred.transpose() * centred / count).norm() > 1e-3 * fisher.norm());
  CHECK_THROWS_WITH(curvature::empirical_fisher([&] { return cross_entropy(p); }, parameters),
                    Contains("one loss a row"));
}

TEST_CASE("a block is the corner of the whole, and its spectrum lies inside") {
  auto p = small_problem();
  const auto all = curvature::select_parameters(*p.model);
  const auto block = curvature::select_parameters(*p.model, "blocks.1.down_proj.*");
  REQUIRE(block.size() == 3);
  const auto whole = curvature::to_dense(
      curvature::as_linear(*curvature::hessian([&] { return cross_entropy(p); }, all)));
  const auto part = curvature::to_dense(
      curvature::as_linear(*curvature::hessian([&] { return cross_entropy(p); }, block)));
  CHECK(eigenvalues(part).maxCoeff() <= eigenvalues(whole).maxCoeff() + 1e-12 * whole.norm());
  CHECK(eigenvalues(part).minCoeff() >= eigenvalues(whole).minCoeff() - 1e-12 * whole.norm());
  CHECK_THROWS_WITH(curvature::select_parameters(*p.model, "blocks.9.*"),
                    Contains("blocks.0.up_proj.weight"));
  CHECK(curvature::select_parameters(*p.model, "blocks.?.up_proj.weight").size() == 2);
}

TEST_CASE("a float product differs from the double one by its stated noise at most") {
  auto p = small_problem();
  const auto op =
      curvature::hessian([&] { return cross_entropy(p); }, curvature::select_parameters(*p.model));
  const auto v = torch::randn({op->size()}, torch::kDouble);
  const auto want = op->apply(v);
  const double norm =
      eigenvalues(curvature::to_dense(curvature::as_linear(*op))).cwiseAbs().maxCoeff();
  Problem q = p;
  q.model->to(torch::kFloat);
  q.x = p.x.to(torch::kFloat);
  const auto low =
      curvature::hessian([&] { return cross_entropy(q); }, curvature::select_parameters(*q.model));
  const auto got = low->apply(v.to(torch::kFloat)).to(torch::kDouble);
  CHECK((got - want).norm().item<double>() < low->product_noise() * norm * v.norm().item<double>());
}

TEST_CASE("an operator leaves gradients, mode and random state as they were") {
  auto p = small_problem();
  p.model->train();
  torch::manual_seed(3);
  const auto want = torch::rand({4});
  torch::manual_seed(3);
  const auto op =
      curvature::hessian([&] { return cross_entropy(p); }, curvature::select_parameters(*p.model));
  op->apply(torch::randn({op->size()}, at::detail::createCPUGenerator(1), torch::kDouble));
  CHECK(torch::equal(torch::rand({4}), want));
  CHECK(p.model->is_training());
  for (const auto& parameter : p.model->parameters()) CHECK_FALSE(parameter.grad().defined());
}

TEST_CASE("losses that have no curvature are refused with the reason") {
  auto p = small_problem();
  const auto parameters = curvature::select_parameters(*p.model);
  CHECK_THROWS_WITH(
      curvature::hessian(
          [&] { return torch::dropout(p.model->forward(p.x), 0.5, true).square().mean(); },
          parameters),
      Contains("not deterministic") && Contains("dropout"));
  CHECK_THROWS_WITH(curvature::hessian([&] { return cross_entropy(p) / 0 * 0; }, parameters),
                    Contains("not finite"));
  CHECK_THROWS_WITH(
      curvature::hessian([&] { return torch::zeros({}, torch::kDouble); }, parameters),
      Contains("does not depend"));
  CHECK_THROWS_WITH(curvature::hessian([&] { return p.model->forward(p.x).square(); }, parameters),
                    Contains("scalar"));
  const auto other = torch::ones({2}, torch::requires_grad().dtype(torch::kDouble));
  CHECK_THROWS_WITH(curvature::hessian([&] { return cross_entropy(p); }, {{"other", other}}),
                    Contains("does not depend"));
}

TEST_CASE("the Hessian has the gradient of its loss, also where nothing is kept") {
  auto p = small_problem();
  const auto parameters = curvature::select_parameters(*p.model);
  const auto wanted = gradient(p, parameters);
  for (const auto kind : {curvature::ProductKind::kGraphKept,
                          curvature::ProductKind::kRecomputed,
                          curvature::ProductKind::kFiniteDifference}) {
    curvature::OperatorOptions options;
    options.product = kind;
    const auto op = curvature::hessian([&] { return cross_entropy(p); }, parameters, options);
    CHECK(torch::allclose(op->gradient(), wanted, 1e-12, 1e-14));
    CHECK(torch::equal(curvature::watched(*op, [](int) {})->gradient(), op->gradient()));
  }
}

TEST_CASE("a loss linear in its parameters has the zero Hessian") {
  const auto w = torch::ones({3}, torch::requires_grad().dtype(torch::kDouble));
  const auto op = curvature::hessian([&] { return w.sum(); }, {{"w", w}});
  CHECK(op->apply(torch::ones({3}, torch::kDouble)).abs().sum().item<double>() == 0);
}
