// SPDX-License-Identifier: Apache-2.0
// How often the stated 95 % intervals of Lemma 2's terms hold the truth, for rows that are
// independent and for sequences. The population is a finite list of rows or sequences, each as
// likely, so that its own gradient_variance is the truth.
#include "kappascope/core/statistics.h"
#include "support/catch.h"
#include "tensor/gradient_variance.h"

using namespace kappascope;
using tensor::gradient_variance;

namespace {

constexpr int kDraws = 2000;
constexpr int64_t kRows = 1000;
constexpr double kDropout = 0.25;

struct Population {
  at::Tensor phi, gamma;  // [units, rows of a unit, d]
  at::Tensor bias = torch::tensor({0.5, -1.0, 0.25, 0.0}, torch::kDouble);
  int64_t rows_per_group = 1;
};

// Features and gradients depend on each other and have means: every term of the decomposition is
// there. Rows of one sequence share most of their gradient.
Population population(int64_t rows_per_group) {
  torch::manual_seed(21);
  const int64_t units = 256;
  Population p;
  p.rows_per_group = rows_per_group;
  const auto mask =
      torch::rand({units, rows_per_group, 4}, torch::kDouble).gt(kDropout).to(torch::kDouble) /
      (1 - kDropout);
  p.phi = mask * (torch::randn({units, rows_per_group, 4}, torch::kDouble) + 1);
  p.gamma = torch::randn({units, 1, 3}, torch::kDouble) +
            0.3 * torch::randn({units, rows_per_group, 3}, torch::kDouble) +
            0.2 * p.phi.sum(2, /*keepdim=*/true) * torch::ones({3}, torch::kDouble);
  return p;
}

tensor::GradientVariance of(const Population& p, const at::Tensor& chosen) {
  return gradient_variance(p.phi.index_select(0, chosen).reshape({-1, 4}),
                           p.gamma.index_select(0, chosen).reshape({-1, 3}),
                           p.bias,
                           kDropout,
                           p.rows_per_group);
}

}  // namespace

TEST_CASE("the intervals of measured variance, formulas and assumptions cover in 93 % of draws") {
  using Term = tensor::Measured tensor::GradientVariance::*;
  const std::vector<std::pair<const char*, Term>> terms = {
      {"measured", &tensor::GradientVariance::measured},
      {"derived", &tensor::GradientVariance::derived},
      {"published", &tensor::GradientVariance::published},
      {"independence", &tensor::GradientVariance::independence},
      {"zero_mean", &tensor::GradientVariance::zero_mean}};
  for (const int64_t rows_per_group : {1, 5}) {
    const auto p = population(rows_per_group);
    const auto truth = of(p, torch::arange(p.phi.size(0)));
    std::vector<int> covered(terms.size(), 0);
    for (int draw = 0; draw < kDraws; ++draw) {
      const auto estimate =
          of(p, torch::randint(p.phi.size(0), {kRows / rows_per_group}, torch::kLong));
      for (std::size_t i = 0; i < terms.size(); ++i) {
        const auto& stated = estimate.*terms[i].second;
        const double gap = std::abs(stated.value - (truth.*terms[i].second).value);
        covered[i] += gap <= normal_quantile(0.975) * stated.error ? 1 : 0;
      }
    }
    // Were the coverage 95 %, fewer than 93 % of 2,000 would come once in 40,000 runs.
    for (std::size_t i = 0; i < terms.size(); ++i) {
      CAPTURE(rows_per_group, terms[i].first, covered[i]);
      CHECK(covered[i] >= 0.93 * kDraws);
    }
  }
}

TEST_CASE("errors that take dependent rows for independent ones would be found too small") {
  auto p = population(5);
  const auto truth = of(p, torch::arange(p.phi.size(0))).measured.value;
  constexpr int kFewer = 400;
  int covered = 0;
  for (int draw = 0; draw < kFewer; ++draw) {
    const auto chosen = torch::randint(p.phi.size(0), {kRows / 5}, torch::kLong);
    p.rows_per_group = 1;
    const auto estimate = of(p, chosen).measured;
    covered += std::abs(estimate.value - truth) <= normal_quantile(0.975) * estimate.error ? 1 : 0;
  }
  // The bound that the intervals above have to reach. Were the coverage 85 %, 93 % of 400 would be
  // reached less than once in 1,000,000 runs.
  CHECK(covered < 0.93 * kFewer);
}
