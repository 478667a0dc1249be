// SPDX-License-Identifier: Apache-2.0
#include "kappascope/linalg/trace.h"

#include <cmath>
#include <limits>

#include "kappascope/core/error.h"
#include "support/catch.h"
#include "support/matrices.h"

using namespace kappascope::linalg;
using namespace kappascope::test;

namespace {

/// A few outliers over a decaying bulk with a negative part, as Hessians have.
Eigen::VectorXd hessian_like(Eigen::Index n) {
  Eigen::VectorXd values(n);
  for (Eigen::Index i = 0; i < n; ++i) values(i) = std::exp(-0.05 * static_cast<double>(i));
  values.head(4) << 40, 30, 20, 15;
  values.tail(n / 4) *= -1;
  return values;
}

}  // namespace

TEST_CASE("the stated error covers the trace at its rate, and few products reach 5 %") {
  const Eigen::VectorXd values = hessian_like(200);
  const auto op = dense_operator(with_spectrum(values, 1));
  constexpr int kSeeds = 400;
  int covered = 0, products = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const auto found = trace(op, {.seed = static_cast<std::uint64_t>(seed)});
    REQUIRE(found.status == KrylovStatus::kConverged);
    REQUIRE(found.standard_error <= 0.05 * std::abs(found.value));
    covered += found.lower <= values.sum() && values.sum() <= found.upper ? 1 : 0;
    products += found.products;
  }
  // With a true rate of 95 % fewer than 360 of 400 happen once in 10⁵ (normal approximation).
  CHECK(covered >= 360);
  CHECK(products <= 27 * kSeeds);  // 26 are the fewest: seven directions, 4 and 8 vectors
}

TEST_CASE("taking directions out pays where a few eigenvalues carry the trace") {
  const Eigen::VectorXd values = hessian_like(200);
  const auto op = dense_operator(with_spectrum(values, 1));
  const auto products = [&](int sketch) {
    int sum = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed)
      sum += trace(op, {.max_products = 2000, .sketch = sketch, .seed = seed}).products;
    return sum;
  };
  CHECK(products(5) < products(0) / 2);
}

TEST_CASE("the estimate is exact where the directions taken out are all there are") {
  for (const Eigen::Index n : {1, 2, 5}) {
    const Eigen::VectorXd values = Eigen::VectorXd::LinSpaced(n, -2, 3);
    const auto found = trace(dense_operator(with_spectrum(values, 2)), {.sketch = 5});
    CHECK(found.status == KrylovStatus::kConverged);
    CHECK(found.value == Approx(values.sum()).margin(1e-12));
    CHECK(found.standard_error == 0);
  }
  // Rank two of sixty: two directions are the range, and what is left has no trace.
  Eigen::VectorXd low = Eigen::VectorXd::Zero(60);
  low.head(2) << 3, -1;
  const auto found = trace(dense_operator(with_spectrum(low, 3)));
  CHECK(found.value == Approx(2).epsilon(1e-12));
  CHECK(found.standard_error < 1e-12);
  CHECK(found.vectors == 8);
}

TEST_CASE("a negative trace and the zero operator have their values") {
  const Eigen::VectorXd values = -hessian_like(100);
  const auto negative = trace(dense_operator(with_spectrum(values, 4)));
  CHECK(negative.status == KrylovStatus::kConverged);
  CHECK(negative.lower <= values.sum());
  CHECK(values.sum() <= negative.upper);
  const auto zero = trace(dense_operator(Eigen::MatrixXd::Zero(20, 20)));
  CHECK(zero.status == KrylovStatus::kConverged);
  CHECK(zero.value == 0);
  CHECK(zero.standard_error == 0);
}

TEST_CASE("where positive and negative cancel, an absolute error is the one to be had") {
  // Trace 0.3 of a spectrum whose probes vary by sqrt(2 Σ λ²) = 12.
  Eigen::VectorXd values = Eigen::VectorXd::LinSpaced(200, -1, 1);
  values(100) += 0.3;
  const double truth = values.sum();
  const auto op = dense_operator(with_spectrum(values, 5));
  const auto share = trace(op);
  CHECK(share.status == KrylovStatus::kMaxProducts);
  CHECK(share.products == 100);
  int covered = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto found = trace(op, {.absolute_error = 2, .seed = seed});
    REQUIRE(found.status == KrylovStatus::kConverged);
    REQUIRE(found.standard_error <= 2);
    covered += found.lower <= truth && truth <= found.upper ? 1 : 0;
  }
  // With a true rate of 95 % fewer than 180 of 200 happen once in 600 sets of seeds (binomial).
  CHECK(covered >= 180);
}

TEST_CASE("a negative trace is covered as a positive one is, in as many products") {
  const Eigen::VectorXd values = hessian_like(200);
  const auto up = dense_operator(with_spectrum(values, 6));
  const auto down = dense_operator(with_spectrum(-values, 6));
  int covered = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto found = trace(down, {.seed = seed});
    REQUIRE(found.status == KrylovStatus::kConverged);
    covered += found.lower <= -values.sum() && -values.sum() <= found.upper ? 1 : 0;
    if (seed < 10) {
      const auto mirrored = trace(up, {.seed = seed});
      CHECK(mirrored.products == found.products);
      CHECK(mirrored.value == Approx(-found.value));
    }
  }
  CHECK(covered >= 180);  // as above
}

TEST_CASE("fewer vectors make a smaller sketch") {
  const auto op = dense_operator(with_spectrum(hessian_like(200), 1));
  TraceOptions options{.max_products = 2000, .relative_error = 0.02};
  const auto free = trace(op, options);
  options.max_vectors = 9;
  CHECK(trace(op, options).products == free.products);
  options.max_vectors = 3;
  const auto tight = trace(op, options);
  CHECK(tight.status == KrylovStatus::kConverged);
  CHECK(tight.products == tight.vectors + 2 + 4);  // four told how many
  options.max_vectors = 2;
  const auto none = trace(op, options);
  CHECK(none.products == none.vectors + 4);
  options.max_vectors = 1;
  CHECK_THROWS_AS(trace(op, options), kappascope::Error);
  CHECK_THROWS_AS(trace(op, {.absolute_error = -1}), kappascope::Error);
}

TEST_CASE("what is not reached, not finite or not meant is said") {
  const auto op = dense_operator(with_spectrum(hessian_like(200), 1));
  const auto few = trace(op, {.max_products = 3});
  CHECK(few.status == KrylovStatus::kMaxProducts);
  CHECK(few.products == 3);
  CHECK(few.lower < few.value);
  const auto one = trace(op, {.max_products = 1});
  CHECK(std::isfinite(one.value));
  CHECK(one.vectors == 1);
  CHECK(one.standard_error > 0);
  const auto bad = trace(
      dense_operator(Eigen::MatrixXd::Constant(9, 9, std::numeric_limits<double>::quiet_NaN())));
  CHECK(bad.status == KrylovStatus::kNonFinite);
  CHECK(std::isnan(bad.value));
  CHECK_THROWS_AS(trace(op, {.max_products = 0}), kappascope::Error);
  CHECK_THROWS_AS(trace(op, {.relative_error = 0}), kappascope::Error);
}
