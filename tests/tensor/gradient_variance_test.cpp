// SPDX-License-Identifier: Apache-2.0
#include "tensor/gradient_variance.h"

#include "kappascope/core/error.h"
#include "kappascope/core/statistics.h"
#include "support/catch.h"
#include "tensor/autocast.h"

using namespace kappascope;
using tensor::gradient_variance;

namespace {

// Σ over all entries of W_d of the variance of one token's gradient, from the gradients themselves.
double brute_force(const at::Tensor& phi, const at::Tensor& gamma, const at::Tensor& b) {
  const auto g = (phi + b).unsqueeze(2) * gamma.unsqueeze(1);  // [n, d_ff, d_model]
  return (g - g.mean(0)).square().sum(torch::IntArrayRef{1, 2}).mean().item<double>();
}

struct Case {
  at::Tensor phi, gamma, b;
};

// Features, masks and gradients that depend on each other, with means: no assumption holds.
Case dependent_case(int64_t n = 80) {
  torch::manual_seed(9);
  Case c;
  const auto mask = torch::rand({n, 6}, torch::kDouble).gt(0.25).to(torch::kDouble) / 0.75;
  c.phi = mask * (torch::randn({n, 6}, torch::kDouble).square() + 0.5);
  c.gamma = torch::randn({n, 3}, torch::kDouble) * c.phi.sum(1, true) + 0.3;
  c.b = torch::randn({6}, torch::kDouble);
  return c;
}

}  // namespace

TEST_CASE("the measured variance is that of the per-token gradients, without forming them") {
  const auto c = dependent_case();
  const auto v = gradient_variance(c.phi, c.gamma, c.b, 0.25);
  CHECK(v.measured.value == Approx(brute_force(c.phi, c.gamma, c.b)).epsilon(1e-12));
  CHECK(v.b_zero.value ==
        Approx(brute_force(c.phi, c.gamma, torch::zeros_like(c.b))).epsilon(1e-12));
  CHECK(v.b_minus_mean.value == Approx(brute_force(c.phi, c.gamma, -c.phi.mean(0))).epsilon(1e-12));
}

TEST_CASE("what training rounds to for speed rounds nothing here, and stays as it was") {
  auto& context = at::globalContext();
  auto c = dependent_case(300);
  for (auto* part : {&c.phi, &c.gamma, &c.b}) *part = part->to(torch::kFloat);
  const auto numbers = [&] {
    const auto v = gradient_variance(c.phi, c.gamma, c.b, 0.25);
    return std::vector<double>{v.measured.value,
                               v.derived.value,
                               v.published.value,
                               v.independence.value,
                               v.zero_mean.value,
                               v.b_minus_mean.value,
                               v.b_minimiser.value,
                               v.measured.error};
  };
  const auto want = numbers();
  for (const auto type : {torch::kBFloat16, torch::kHalf}) {
    for (const char* precision : {"highest", "high", "medium"}) {
      context.setFloat32MatmulPrecision(precision);
      const auto before = context.float32MatmulPrecision();
      const tensor::Autocast autocast(torch::kCPU, type);
      CHECK(numbers() == want);
      CHECK(context.float32MatmulPrecision() == before);
      CHECK(tensor::Autocast::now(torch::kCPU) == type);
    }
  }
  context.setFloat32MatmulPrecision("highest");
}

TEST_CASE(
    "float features agree with double to float rounding, also about a mean a hundred times as "
    "large") {
  torch::manual_seed(10);
  constexpr int64_t kRows = 400, kFeatures = 60;
  const auto phi = torch::randn({kRows, kFeatures}) + 100;
  const auto gamma = torch::randn({kRows, 20}) * (phi.sum(1, true) - 100 * kFeatures) / 8 + 0.5;
  const auto b = torch::randn({kFeatures}) - 99;
  const auto narrow = gradient_variance(phi, gamma, b, 0.25);
  const auto wide = gradient_variance(phi.to(torch::kDouble), gamma.to(torch::kDouble), b, 0.25);
  // A product of k terms is off by at most k · 2⁻²⁴ of the product of the lengths.
  const double bound = (kRows + kFeatures) * 0x1p-24;
  for (const auto quantity : {&tensor::GradientVariance::measured,
                              &tensor::GradientVariance::derived,
                              &tensor::GradientVariance::published,
                              &tensor::GradientVariance::b_zero,
                              &tensor::GradientVariance::b_minus_mean,
                              &tensor::GradientVariance::b_minimiser}) {
    const double want = (wide.*quantity).value;
    CHECK(std::abs((narrow.*quantity).value - want) < bound * std::abs(want));
  }
  // Products about zero would be off by the bound times b = 0's variance, far more than this one's.
  CHECK(wide.b_zero.value > 100 * wide.b_minimiser.value);
}

TEST_CASE("measured = derived + independence - zero mean, exactly") {
  const auto c = dependent_case();
  const auto v = gradient_variance(c.phi, c.gamma, c.b, 0.25);
  CHECK(v.measured.value ==
        Approx(v.derived.value + v.independence.value - v.zero_mean.value).epsilon(1e-13));
  // The terms are there to be seen in this case.
  CHECK(std::abs(v.independence.value) > 0.05 * v.measured.value);
  CHECK(v.zero_mean.value > 0);
}

TEST_CASE(
    "the published formula lacks the masked mean's term, and equals the derived one without "
    "dropout") {
  const auto c = dependent_case();
  const auto v = gradient_variance(c.phi, c.gamma, c.b, 0.25);
  const double missing = (1.0 / 3) * c.phi.mean(0).square().sum().item<double>() *
                         c.gamma.square().sum(1).mean().item<double>();
  CHECK(v.derived.value - v.published.value == Approx(missing).epsilon(1e-12));
  const auto plain = gradient_variance(c.phi, c.gamma, c.b, 0);
  CHECK(plain.published.value == Approx(plain.derived.value).epsilon(1e-14));
}

TEST_CASE("no other b has a smaller variance than the minimiser") {
  const auto c = dependent_case();
  const auto v = gradient_variance(c.phi, c.gamma, c.b, 0.25);
  for (int64_t j = 0; j < 6; ++j) {
    for (const double h : {-1e-3, 1e-3}) {
      auto moved = v.minimiser.clone();
      moved[j] += h;
      CHECK(brute_force(c.phi, c.gamma, moved) > v.b_minimiser.value);
    }
  }
  CHECK(v.b_minimiser.value <= v.b_minus_mean.value);
  CHECK(v.b_minimiser.value <= v.measured.value);
}

TEST_CASE("under the lemma's assumptions the minimiser is -E φ and both formulas are met") {
  torch::manual_seed(4);
  const int64_t n = 200000;
  const auto phi = torch::randn({n, 2}, torch::kDouble) + 1;
  const auto gamma = torch::randn({n, 2}, torch::kDouble);
  const auto b = torch::tensor({0.5, -1.0}, torch::kDouble);
  const auto v = gradient_variance(phi, gamma, b, 0);
  CHECK(torch::allclose(v.minimiser, -phi.mean(0), 0, 0.02));
  // Five standard errors: false alarm below 1e-6.
  CHECK(std::abs(v.measured.value - v.derived.value) < 5 * v.measured.error);
  CHECK(std::abs(v.independence.value) < 5 * v.independence.error);
}

TEST_CASE("the standard error is that of repeated draws, for independent and for clustered rows") {
  torch::manual_seed(5);
  const int64_t groups = 100, size = 4;
  for (const bool clustered : {false, true}) {
    std::vector<double> estimates, errors;
    for (int draw = 0; draw < 300; ++draw) {
      auto phi = torch::randn({groups, clustered ? 1 : size, 3}, torch::kDouble)
                     .expand({groups, size, 3})
                     .reshape({-1, 3});
      const auto gamma = torch::randn({groups, clustered ? 1 : size, 2}, torch::kDouble)
                             .expand({groups, size, 2})
                             .reshape({-1, 2});
      const auto v = gradient_variance(phi, gamma, {}, 0, clustered ? size : 1);
      estimates.push_back(v.measured.value);
      errors.push_back(v.measured.error);
    }
    const auto e = torch::tensor(estimates, torch::kDouble),
               s = torch::tensor(errors, torch::kDouble);
    // The spread of 300 draws is known to 4 %; the error's own bias at these sizes is a few
    // percent.
    CHECK(s.mean().item<double>() == Approx(e.std().item<double>()).epsilon(0.2));
  }
}

TEST_CASE("gradients that do not vary have no minimiser but b = 0, and bad input is refused") {
  const auto phi = torch::randn({10, 3}, torch::kDouble);
  const auto v = gradient_variance(phi, torch::ones({10, 2}, torch::kDouble), {}, 0);
  CHECK(v.minimiser.abs().sum().item<double>() == 0);
  CHECK_THROWS_AS(gradient_variance(phi, torch::ones({9, 2}), {}, 0), Error);
  CHECK_THROWS_AS(gradient_variance(phi, torch::ones({10, 2}), {}, 1), Error);
  CHECK_THROWS_AS(gradient_variance(phi, torch::ones({10, 2}), {}, 0, 3), Error);
}

TEST_CASE("the critical batch is the noise over the true mean square, also from small batches") {
  using tensor::critical_batch;
  // Exactly: variance 12 of a row (10.5 with divisor 8), a mean whose square is 3, seen in 8 rows
  // as 3 + 12 / 8.
  const auto exact = critical_batch({10.5, 0}, {3 + 12.0 / 8, 0}, 8, 2);
  CHECK(exact.value == Approx(4));
  CHECK(exact.lower == Approx(4));
  CHECK(exact.upper == Approx(4));
  const auto bounded = critical_batch({10.5, 0.875}, {4.5, 0.25}, 8, 2);
  CHECK(bounded.lower == Approx(10 / (5 - 10.0 / 8)));
  CHECK(bounded.upper == Approx(14 / (4 - 14.0 / 8)));
  // A mean that is lost in the noise.
  CHECK(std::isinf(critical_batch({10.5, 0}, {1.4, 0}, 8, 2).value));

  // Gradients y γ with y = 1, γ of mean 0.5 and deviation 2: 16 rows are critical. 800 windows of 4
  // steps of 8 rows: their ratio of means, not the mean of their ratios.
  torch::manual_seed(21);
  double variance = 0, mean_square = 0;
  for (int i = 0; i < 800; ++i) {
    const auto gamma = 2 * torch::randn({8, 1}, torch::kDouble) + 0.5;
    const auto v = gradient_variance(torch::ones({8, 1}, torch::kDouble), gamma, {}, 0);
    CHECK(v.rows == 8);
    variance += v.measured.value / 800;
    mean_square += v.zero_mean.value / 800;
  }
  // The mean square is known to about 2 · 0.5 · 2 / √6400 = 0.025 of 0.25: 30 % at three
  // deviations.
  CHECK(critical_batch({variance, 0}, {mean_square, 0}, 8, 0).value == Approx(16).epsilon(0.3));
}
