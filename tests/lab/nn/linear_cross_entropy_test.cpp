// SPDX-License-Identifier: Apache-2.0
#include "lab/nn/linear_cross_entropy.h"

#include <torch/autograd.h>
#include <torch/nn/functional/loss.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <limits>

#include "kappascope/core/error.h"
#include "support/catch.h"

using namespace kappascope;
using torch::autograd::grad;

namespace {

constexpr int64_t kRows = 23, kWidth = 6, kClasses = 11;
/// Each number is a sum over rows, width and classes of some ten operations a term.
constexpr double kRounding = 10 * 40 * std::numeric_limits<double>::epsilon();

struct Head {
  explicit Head(at::ScalarType type = torch::kDouble)
      : h(torch::randn({kRows, kWidth}, torch::kDouble).to(type).requires_grad_()),
        weight(torch::randn({kClasses, kWidth}, torch::kDouble).to(type).requires_grad_()),
        targets(torch::randint(kClasses, {kRows}, torch::kLong)) {}
  [[nodiscard]] at::Tensor whole() const {
    return torch::nn::functional::cross_entropy(torch::linear(h, weight), targets);
  }
  [[nodiscard]] at::Tensor pieces(int64_t rows) const {
    return nn::linear_cross_entropy(h, weight, targets, rows);
  }
  at::Tensor h, weight, targets;
};

double gap(const at::Tensor& a, const at::Tensor& b) {
  return ((a - b).abs().max() / b.abs().max()).item<double>();
}

/// Products of the Hessian in (h, weight) with two directions.
std::vector<at::Tensor> second(const Head& head, const at::Tensor& loss) {
  torch::manual_seed(9);
  const auto first = grad({loss}, {head.h, head.weight}, {}, true, /*create_graph=*/true);
  const auto along = (first[0] * torch::randn_like(head.h)).sum() +
                     (first[1] * torch::randn_like(head.weight)).sum();
  return grad({along}, {head.h, head.weight});
}

}  // namespace

TEST_CASE("the cross entropy by pieces of rows has the value and both gradients of the whole") {
  torch::manual_seed(1);
  const Head head;
  const auto whole = head.whole();
  const auto want = grad({whole * 3}, {head.h, head.weight});
  for (const int64_t rows : {1, 5, 22, 23, 100}) {
    CAPTURE(rows);
    const auto loss = head.pieces(rows);
    CHECK(loss.sizes().empty());
    CHECK(gap(loss, whole) <= kRounding);
    const auto found = grad({loss * 3}, {head.h, head.weight}, {}, /*retain_graph=*/true);
    CHECK(gap(found[0], want[0]) <= kRounding);
    CHECK(gap(found[1], want[1]) <= kRounding);
    // The graph can be walked again.
    CHECK(torch::equal(grad({loss * 3}, {head.weight})[0], found[1]));
  }
}

TEST_CASE("the cross entropy by pieces has an exact second derivative, also through a function") {
  torch::manual_seed(2);
  const Head head;
  // The outer square makes the incoming gradient depend on h and weight, too.
  for (const bool squared : {false, true}) {
    const auto of = [&](const at::Tensor& loss) { return squared ? loss.square() : loss; };
    const auto want = second(head, of(head.whole())), found = second(head, of(head.pieces(7)));
    CHECK(gap(found[0], want[0]) <= 10 * kRounding);
    CHECK(gap(found[1], want[1]) <= 10 * kRounding);
  }
}

TEST_CASE("one gradient alone, none, and a float head are what they are without pieces") {
  torch::manual_seed(3);
  const Head head(torch::kFloat);
  const double rounding = 10 * 40 * std::numeric_limits<float>::epsilon();
  const auto want = grad({head.whole()}, {head.h, head.weight});
  const auto only_h = nn::linear_cross_entropy(head.h, head.weight.detach(), head.targets, 4);
  CHECK(gap(grad({only_h}, {head.h})[0], want[0]) <= rounding);
  const auto only_weight = nn::linear_cross_entropy(head.h.detach(), head.weight, head.targets, 4);
  CHECK(gap(grad({only_weight}, {head.weight})[0], want[1]) <= rounding);
  const torch::NoGradGuard no_grad;
  const auto value = head.pieces(4);
  CHECK_FALSE(value.requires_grad());
  CHECK(value.scalar_type() == torch::kFloat);
  CHECK(gap(value, head.whole()) <= rounding);
}

TEST_CASE("shapes that do not fit are refused") {
  const Head head;
  CHECK_THROWS_AS(head.pieces(0), Error);
  CHECK_THROWS_WITH(nn::linear_cross_entropy(head.h, head.weight.t(), head.targets, 1),
                    Catch::Contains("[n, width]"));
  CHECK_THROWS_WITH(nn::linear_cross_entropy(head.h, head.weight, head.targets.narrow(0, 0, 2), 1),
                    Catch::Contains("a target for each of 23 rows"));
}
