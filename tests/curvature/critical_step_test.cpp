// SPDX-License-Identifier: Apache-2.0
#include "kappascope/curvature/critical_step.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <array>
#include <cmath>

#include "kappascope/core/error.h"
#include "small_problem.h"
#include "support/catch.h"
#include "support/thread_group.h"

using namespace kappascope;
using curvature::CriticalStepStatus;

namespace {

/// ½ xᵀ A x + 1 at x, and what it was before a step of gradient descent at `rate`.
struct Quadratic {
  at::Tensor matrix, x, before;
  double critical;  // as a multiple of the step

  explicit Quadratic(double rate) {
    torch::manual_seed(1);
    const auto root = torch::randn({6, 6}, torch::kDouble);
    matrix = root.matmul(root.t());
    before = torch::randn({6}, torch::kDouble);
    const auto g = matrix.mv(before);
    const double curved = g.dot(matrix.mv(g)).item<double>();
    critical = 2 * g.dot(g).item<double>() / curved / rate;
    x = (before - rate * g).requires_grad_();
  }
  [[nodiscard]] at::Tensor loss() const { return 0.5 * x.dot(matrix.mv(x)) + 1; }
  [[nodiscard]] curvature::CriticalStep search(
      const curvature::CriticalStepOptions& options = {}) const {
    return curvature::critical_step([&] { return loss(); }, {{"x", x}}, {before}, options);
  }
};

}  // namespace

TEST_CASE("along a parabola the critical multiple is found to its digits, and bounded") {
  for (const double rate : {1e-3, 1e-2, 0.2, 2.0}) {
    CAPTURE(rate);
    const Quadratic problem(rate);
    const auto after = problem.x.detach().clone();
    const auto found = problem.search();
    CHECK(found.status == CriticalStepStatus::kResolved);
    CHECK(found.value == Approx(problem.critical).epsilon(1e-6));
    CHECK(found.lower <= problem.critical * (1 + 1e-9));
    CHECK(found.upper > problem.critical * (1 - 1e-9));
    CHECK(found.upper <= 1.5 * found.lower);
    CHECK(found.evaluations <= 8);
    CHECK(torch::equal(problem.x, after));
  }
}

TEST_CASE("a good guess saves evaluations") {
  const Quadratic problem(0.01);
  for (const double off : {0.8, 1.25}) {
    const auto found = problem.search({.guess = off * problem.critical, .growth = 1.6});
    CHECK(found.status == CriticalStepStatus::kResolved);
    CHECK(found.evaluations <= 5);
  }
}

TEST_CASE("the bounds are of losses that were evaluated there") {
  auto p = test::small_problem();
  const auto parameters = curvature::select_parameters(*p.model);
  std::vector<at::Tensor> before, after;
  for (const auto& [name, parameter] : parameters) before.push_back(parameter.detach().clone());
  test::cross_entropy(p).backward();
  {
    const torch::NoGradGuard no_grad;
    for (const auto& [name, parameter] : parameters) {
      parameter.sub_(parameter.grad(), 0.5);
      after.push_back(parameter.detach().clone());
    }
  }
  const auto found = curvature::critical_step([&] { return test::cross_entropy(p); },
                                              parameters,
                                              before,
                                              {.tolerance = 0.1, .max_evaluations = 16});
  CHECK(found.status == CriticalStepStatus::kResolved);
  CHECK(found.lower <= found.value);
  CHECK(found.value <= found.upper);
  const auto loss_at = [&](double multiple) {
    const torch::NoGradGuard no_grad;
    for (std::size_t i = 0; i < before.size(); ++i)
      parameters[i].second.copy_(before[i] + multiple * (after[i] - before[i]));
    return test::cross_entropy(p).item<double>();
  };
  const double first = loss_at(0);
  CHECK(loss_at(found.lower) <= first);
  CHECK(loss_at(found.upper) > first);
  for (const auto& [multiple, loss] : found.points)
    CHECK(loss_at(multiple) == Approx(loss).epsilon(1e-12));
}

TEST_CASE("a step uphill, one without an end, and one into nothing end as what they are") {
  const auto along = [](double from, double to, const std::function<at::Tensor(at::Tensor)>& f) {
    const auto x = torch::tensor({to}, torch::kDouble).requires_grad_();
    return curvature::critical_step(
        [&] { return f(x).sum(); }, {{"x", x}}, {torch::tensor({from}, torch::kDouble)}, {});
  };
  const auto uphill = along(1, 1.5, [](const at::Tensor& x) { return x.square(); });
  CHECK(uphill.status == CriticalStepStatus::kAscends);
  CHECK(uphill.lower == 0);
  CHECK(uphill.upper < 0.01);
  CHECK(std::isnan(uphill.value));
  const auto endless = along(1, 0.9, [](const at::Tensor& x) { return x; });
  CHECK(endless.status == CriticalStepStatus::kNotReached);
  CHECK(std::isinf(endless.upper));
  CHECK(endless.lower >= 16);
  // log x falls until it is no number at ten times the step.
  const auto nothing = along(1, 0.9, [](const at::Tensor& x) { return x.log(); });
  CHECK(nothing.lower <= 10);
  CHECK(nothing.upper > 9.99);
}

TEST_CASE("what cannot be searched is refused") {
  const Quadratic problem(0.1);
  const curvature::NamedParameters x = {{"x", problem.x}};
  const auto search = [&](const curvature::LossFunction& loss,
                          const std::vector<at::Tensor>& before) {
    return curvature::critical_step(loss, x, before, {});
  };
  const auto loss = [&] { return problem.loss(); };
  CHECK_THROWS_WITH(search(loss, {problem.x.detach()}), Catch::Contains("there is no step"));
  CHECK_THROWS_WITH(search(loss, {torch::full_like(problem.x.detach(), NAN)}),
                    Catch::Contains("not finite"));
  CHECK_THROWS_WITH(search(loss, {}), Catch::Contains("1 parameters"));
  CHECK_THROWS_WITH(search(loss, {torch::zeros({3})}), Catch::Contains("another shape"));
  int calls = 0;
  CHECK_THROWS_WITH(search([&] { return problem.loss() + 1e-3 * ++calls; }, {problem.before}),
                    Catch::Contains("not deterministic"));
  CHECK_THROWS_WITH(search([&] { return problem.loss() * NAN; }, {problem.before}),
                    Catch::Contains("not finite"));
  CHECK_THROWS_AS(problem.search({.max_evaluations = 2}), Error);
  // The parameters are as they were, whatever ended it.
  const auto after = problem.x.detach().clone();
  calls = 0;
  CHECK_THROWS_AS(search(
                      [&]() -> at::Tensor {
                        if (++calls == 4) throw std::runtime_error("mine");
                        return problem.loss();
                      },
                      {problem.before}),
                  std::runtime_error);
  CHECK(torch::equal(problem.x, after));
}

TEST_CASE("processes find that of their mean loss, and one that fails fails alone") {
  const auto whole = Quadratic(0.1).search();
  // Made here, as threads share the generator of random numbers.
  const std::array<Quadratic, 2> own{Quadratic(0.1), Quadratic(0.1)};
  testing::in_threads(2, [&](const std::shared_ptr<tensor::Group>& group) {
    const auto& problem = own[static_cast<std::size_t>(group->rank())];
    // The mean of twice the loss and nothing is the loss.
    const auto found = curvature::critical_step([&] { return 2 * group->rank() * problem.loss(); },
                                                {{"x", problem.x}},
                                                {problem.before},
                                                {.group = group.get()});
    if (found.value != Approx(whole.value)) throw Error("another value");
    int calls = 0;
    const auto failing = [&]() -> at::Tensor {
      if (group->rank() == 1 && ++calls == 4) throw std::runtime_error("mine");
      return problem.loss();
    };
    bool failed = false;
    try {
      curvature::critical_step(
          failing, {{"x", problem.x}}, {problem.before}, {.group = group.get()});
    } catch (const std::runtime_error&) {
      failed = true;
    }
    if (failed != (group->rank() == 1)) throw Error("the wrong process failed");
  });
}
