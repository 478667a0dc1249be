// SPDX-License-Identifier: Apache-2.0
// What breaks other tools, as a table: each case with its right answer or its named outcome.
#include <torch/autograd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "curvature/small_problem.h"
#include "kappascope/core/error.h"
#include "kappascope/curvature/spectrum.h"
#include "support/catch.h"

using namespace kappascope;
using namespace kappascope::test;
using Catch::Contains;
using curvature::ProductKind;
using linalg::KrylovStatus;
using linalg::SpectrumEnd;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

at::Tensor parameter(std::vector<double> values, torch::ScalarType type = torch::kDouble) {
  return torch::tensor(values, torch::kDouble).to(type).requires_grad_();
}

/// The Hessian diag(values, then `rest` times 1, ½, ⅓, …) of a quadratic loss in 40 parameters.
struct Quadratic {
  at::Tensor curvatures, w;
  std::unique_ptr<curvature::CurvatureOperator> op;

  explicit Quadratic(const std::vector<double>& values,
                     double rest = 0.5,
                     torch::ScalarType type = torch::kFloat)
      : curvatures(rest / torch::arange(1, 41, torch::kDouble)) {
    for (std::size_t i = 0; i < values.size(); ++i) curvatures[static_cast<int64_t>(i)] = values[i];
    curvatures = curvatures.to(type);
    w = torch::ones({40}, torch::dtype(type).requires_grad(true));
    op = curvature::hessian([this] { return (curvatures * w.square()).sum() / 2; }, {{"w", w}});
  }
};

linalg::LanczosOptions asking_for(int top, SpectrumEnd which) {
  linalg::LanczosOptions options;
  options.top = top;
  options.which = which;
  options.find_repeated = true;
  options.tolerance = 1e-5;
  return options;
}

/// SiLU by hand: a node without a forward-mode derivative, as any custom function is.
struct PlainSilu : torch::autograd::Function<PlainSilu> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x) {
    context->save_for_backward({x});
    return x * torch::sigmoid(x);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list up) {
    const auto x = context->get_saved_variables()[0];
    const auto s = torch::sigmoid(x);
    return {up[0] * s * (1 + x * (1 - s))};
  }
};

}  // namespace

TEST_CASE("spectra that other tools get wrong") {
  struct Case {
    std::string name;
    std::vector<double> values;
    int top;
    SpectrumEnd which;
    std::vector<double> want;
  };
  const auto row = GENERATE(values<Case>({
      // Power iteration never converges, or returns one of the two.
      {"+10 and -10", {10, -10}, 1, SpectrumEnd::kBoth, {10, -10}},
      // Largest by value, not by magnitude.
      {"-20 and +10", {-20, 10}, 1, SpectrumEnd::kLargest, {10}},
      {"-20 and +10, below", {-20, 10}, 1, SpectrumEnd::kSmallest, {-20}},
      {"10 twice", {10, 10}, 2, SpectrumEnd::kLargest, {10, 10}},
      {"10 three times", {10, 10, 10}, 4, SpectrumEnd::kLargest, {10, 10, 10, 0.125}},
      {"a gap of 1 %", {10, 9.9}, 2, SpectrumEnd::kLargest, {10, 9.9}},
      {"-10 twice", {-10, -10}, 2, SpectrumEnd::kSmallest, {-10, -10}},
  }));
  for (const auto type : {torch::kFloat, torch::kDouble}) {
    CAPTURE(row.name, c10::toString(type));
    const Quadratic quadratic(row.values, 0.5, type);
    const auto found = curvature::eigenpairs(*quadratic.op, asking_for(row.top, row.which)).found;
    CHECK(found.status == KrylovStatus::kConverged);
    REQUIRE(found.eigenvalues.size() == std::ssize(row.want));
    for (std::size_t i = 0; i < row.want.size(); ++i) {
      const auto at = static_cast<Eigen::Index>(i);
      CHECK(std::abs(found.eigenvalues[at] - row.want[i]) <= 10 * 1e-5);
    }
  }
}

TEST_CASE("the zero Hessian has zeros for eigenvalues and zero for a trace") {
  const Quadratic zero({}, 0);
  const auto w = parameter(std::vector<double>(40, 1.0));
  const auto linear = curvature::hessian([&] { return w.sum(); }, {{"w", w}});
  for (const auto* op : {zero.op.get(), linear.get()}) {
    const auto found = curvature::eigenpairs(*op, asking_for(2, SpectrumEnd::kBoth)).found;
    CHECK(found.status == KrylovStatus::kConverged);
    REQUIRE(found.eigenvalues.size() > 0);
    CHECK(found.eigenvalues.cwiseAbs().maxCoeff() == 0);
    const auto trace = curvature::trace(*op);
    CHECK(trace.value == 0);
    CHECK(trace.standard_error == 0);
  }
}

TEST_CASE("a negative trace is estimated as any other") {
  // -20 and +10 and a bulk of 1/i: Σ = -10 + (½)(1/3 + … + 1/40).
  const Quadratic quadratic({-20, 10});
  const double want = quadratic.curvatures.sum(torch::kDouble).item<double>();
  REQUIRE(want < -5);
  const auto trace = curvature::trace(*quadratic.op);
  CHECK(trace.products > 2);
  // Hutch++ takes the two large ones exactly; what is left is small.
  CHECK(std::abs(trace.value - want) <= 0.05 * std::abs(want) + 4 * trace.standard_error);
}

TEST_CASE("values that are not finite are a clear error or a status, and end at once") {
  auto p = small_problem();
  const auto parameters = curvature::select_parameters(*p.model);
  const auto hessian = [](Problem& q) {
    return curvature::hessian([&q] { return cross_entropy(q); },
                              curvature::select_parameters(*q.model));
  };
  auto with_nan = p;
  with_nan.x = p.x.clone();
  with_nan.x[3][1] = kNaN;
  CHECK_THROWS_WITH(hessian(with_nan), Contains("not finite"));
  for (const double value : {kInfinity, kNaN}) {
    auto q = in_type(p, torch::kFloat);
    {
      const torch::NoGradGuard no_grad;
      q.model->embed->weight[0][0] = value;
    }
    CHECK_THROWS_WITH(hessian(q), Contains("not finite"));
  }
  auto q = in_type(p, torch::kFloat);
  {
    const torch::NoGradGuard no_grad;
    q.model->embed->weight[0][0] = 3e38;
  }
  CHECK_THROWS_WITH(hessian(q), Contains("not finite"));

  // 3e38 where the loss stays finite and its second derivative does not.
  const auto w = parameter({3e38, 1}, torch::kFloat);
  const auto op = curvature::hessian([&] { return w[0] * w[1].square(); }, {{"w", w}});
  CHECK(curvature::eigenpairs(*op).found.status == KrylovStatus::kNonFinite);
  CHECK(curvature::eigenpairs(*op).found.eigenvalues.size() == 0);
}

TEST_CASE("dropout in training mode is refused with both values; in evaluation mode it is fine") {
  auto p = small_problem(testing::Gate::kSwiglu, 0.2);
  const auto parameters = curvature::select_parameters(*p.model);
  const auto loss = [&] { return cross_entropy(p); };
  p.model->train();
  CHECK_THROWS_WITH(
      curvature::hessian(loss, parameters),
      Contains("not deterministic") && Contains("dropout") &&
          Catch::Matches(".*two evaluations gave [0-9.]+ and [0-9.]+.*", Catch::CaseSensitive::No));
  CHECK_THROWS_WITH(
      curvature::gauss_newton(
          [&] { return p.model->forward(p.x); }, curvature::OutputLoss::kCrossEntropy, parameters),
      Contains("not deterministic"));
  CHECK(p.model->is_training());
  p.model->eval();
  CHECK(curvature::hessian(loss, parameters)->product_kind() == ProductKind::kGraphKept);
}

TEST_CASE("SiLU gates and functions without forward mode have products like any other") {
  torch::manual_seed(2);
  const auto x = torch::randn({9, 4}, torch::kDouble);
  const auto w = torch::randn({4, 4}, torch::kDouble).requires_grad_();
  const auto ours =
      curvature::hessian([&] { return torch::silu(x.mm(w)).square().mean(); }, {{"w", w}});
  const auto custom =
      curvature::hessian([&] { return PlainSilu::apply(x.mm(w)).square().mean(); }, {{"w", w}});
  CHECK(custom->product_kind() == ProductKind::kGraphKept);
  CHECK((dense(*ours) - dense(*custom)).norm() < 1e-13 * dense(*ours).norm());
  const auto newton = curvature::gauss_newton(
      [&] { return PlainSilu::apply(x.mm(w)); }, curvature::OutputLoss::kSquared, {{"w", w}});
  CHECK(eigenvalues(dense(*newton)).minCoeff() > -1e-13);
}

TEST_CASE("every product leaves mode, gradients, random state and parameters as they were") {
  for (const auto kind :
       {ProductKind::kGraphKept, ProductKind::kRecomputed, ProductKind::kFiniteDifference}) {
    CAPTURE(curvature::to_string(kind));
    auto p = small_problem();
    p.model->train();
    const auto parameters = curvature::select_parameters(*p.model);
    std::vector<at::Tensor> before;
    for (const auto& item : parameters) {
      before.push_back(item.second.detach().clone());
      item.second.mutable_grad() = torch::full_like(item.second, 7);
    }
    torch::manual_seed(3);
    const auto want = torch::rand({4});
    torch::manual_seed(3);
    curvature::OperatorOptions options;
    options.product = kind;
    const auto op = curvature::hessian([&] { return cross_entropy(p); }, parameters, options);
    (void)curvature::eigenpairs(*op);
    (void)curvature::trace(*op);
    const auto newton = curvature::gauss_newton([&] { return p.model->forward(p.x); },
                                                curvature::OutputLoss::kCrossEntropy,
                                                parameters,
                                                options);
    newton->apply(torch::ones({newton->size()}));
    CHECK(torch::equal(torch::rand({4}), want));
    CHECK(p.model->is_training());
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto& now = parameters[i].second;
      CHECK(torch::equal(now.detach().view(torch::kLong), before[i].view(torch::kLong)));
      CHECK(now.requires_grad());
      CHECK(torch::equal(now.grad(), torch::full_like(now, 7)));
    }
  }
}
