// SPDX-License-Identifier: Apache-2.0
#include <torch/types.h>

#include <cmath>
#include <limits>

#include "kappascope/core/error.h"
#include "kappascope/curvature/solve.h"
#include "small_problem.h"
#include "support/catch.h"

using namespace kappascope;
using curvature::LogDeterminantStatus;

namespace {

/// A diagonal matrix as an operator: random vectors see no more of it than of any other with the
/// same eigenvalues.
class Diagonal final : public curvature::CurvatureOperator {
 public:
  explicit Diagonal(at::Tensor values) : values_(std::move(values)) {}
  [[nodiscard]] int64_t size() const override { return values_.size(0); }
  [[nodiscard]] at::Tensor apply(const at::Tensor& v) const override { return values_ * v; }
  [[nodiscard]] at::TensorOptions vectors() const override { return values_.options(); }
  [[nodiscard]] double product_noise() const override { return 1e-15; }

 private:
  at::Tensor values_;
};

at::Tensor spread(double low, double high, int64_t n) {
  return torch::logspace(std::log10(low), std::log10(high), n, 10.0, torch::kDouble);
}

double truth(const at::Tensor& values, double damping = 0) {
  return (values + damping).log().sum().item<double>();
}

}  // namespace

TEST_CASE("a small matrix has its determinant from all eigenvalues") {
  const auto values = spread(1e-3, 1e2, 50);
  const auto found = curvature::log_determinant(Diagonal(values));
  CHECK(found.status == LogDeterminantStatus::kExact);
  CHECK(found.products == 50);
  CHECK(found.value == Approx(truth(values)).epsilon(1e-12));
  CHECK(found.lower <= found.value);
  CHECK(found.value <= found.upper);
  CHECK(found.upper - found.lower < 1e-8);
  CHECK(found.smallest == Approx(1e-3).epsilon(1e-9));
}

TEST_CASE("the interval of a large matrix holds its determinant as often as it says") {
  // At 95 %, more than 6 of 40 miss once in 10,000 sets of draws.
  const auto values = spread(1e-2, 1e2, 2000);
  constexpr double kDamping = 0.1;
  const double want = truth(values, kDamping);
  // A start's form has the variance 2 Σ (log λ - mean)² but for n / (n + 2), and a variance from
  // six is 5.3 times its own once in 14,000 draws (chi-squared, 5 degrees of freedom; t = 2.571).
  const auto logs = (values + kDamping).log();
  const double deviation = std::sqrt(2 * (logs - logs.mean()).square().sum().item<double>() / 6);
  const double widest = 2 * 2.571 * deviation * std::sqrt(5.3);
  int missed = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto found = curvature::log_determinant(Diagonal(values),
                                                  {.damping = kDamping,
                                                   .positive_semidefinite = true,
                                                   .starts = 6,
                                                   .steps = 60,
                                                   .seed = seed});
    REQUIRE(found.status == LogDeterminantStatus::kEstimated);
    REQUIRE(found.products == 360);
    missed += found.lower <= want && want <= found.upper ? 0 : 1;
    CHECK(found.upper - found.lower < widest);
  }
  CHECK(missed <= 6);
}

TEST_CASE("a quadrature that has not converged is bounded from both sides") {
  // Six steps do not resolve four decades: the quadratures' own bounds are far apart, and hold it.
  const auto values = spread(1e-4, 1, 2000) - 1e-4;
  constexpr double kDamping = 1e-4;
  const curvature::LogDeterminantOptions options{
      .damping = kDamping, .positive_semidefinite = true, .starts = 20, .steps = 6};
  const auto found = curvature::log_determinant(Diagonal(values), options);
  const double want = truth(values, kDamping);
  CHECK(found.lower < want);
  CHECK(want < found.upper);
  // More steps bring the bounds together.
  auto more = options;
  more.steps = 90;
  const auto closer = curvature::log_determinant(Diagonal(values), more);
  CHECK(closer.upper - closer.lower < 0.5 * (found.upper - found.lower));
  CHECK(closer.lower < want);
  CHECK(want < closer.upper);
  // Without a known bound the lower one rests on Ritz values, which here have not converged.
  auto unknown = options;
  unknown.positive_semidefinite = false;
  const auto open = curvature::log_determinant(Diagonal(values), unknown);
  CHECK(open.lower == -std::numeric_limits<double>::infinity());
  CHECK(open.upper == found.upper);
}

TEST_CASE("what has no logarithm is said") {
  auto values = spread(1e-1, 1, 1000);
  values[3] = -2;
  for (const double damping : {0.0, 1.9}) {
    const auto found = curvature::log_determinant(Diagonal(values), {.damping = damping});
    CHECK(found.status == LogDeterminantStatus::kNotPositive);
    CHECK(std::isnan(found.value));
    CHECK(found.smallest == Approx(damping - 2).epsilon(1e-3));
  }
  CHECK(curvature::log_determinant(Diagonal(values), {.damping = 2.5}).status ==
        LogDeterminantStatus::kEstimated);
  values[3] = std::numeric_limits<double>::quiet_NaN();
  CHECK(curvature::log_determinant(Diagonal(values)).status == LogDeterminantStatus::kNonFinite);
  CHECK(curvature::log_determinant(Diagonal(values.narrow(0, 0, 20))).status ==
        LogDeterminantStatus::kNonFinite);
  CHECK_THROWS_AS(curvature::log_determinant(Diagonal(values), {.starts = 1}), Error);
  CHECK_THROWS_AS(curvature::log_determinant(Diagonal(values), {.damping = std::nan("")}), Error);
  CHECK(std::string(to_string(LogDeterminantStatus::kNotPositive)) == "not_positive_definite");
}
