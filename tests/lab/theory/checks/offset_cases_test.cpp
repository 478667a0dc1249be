// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/offsets/offset_cases.h"

#include "support/catch.h"
#include "theory/checks/offsets/least_error.h"
#include "theory/checks/offsets/vanishing_noise.h"
#include "theory/exact/linalg.h"

using namespace kappascope::theory;

TEST_CASE("offset fits fit, and deviate in every way") {
  int least = 0, other = 0, orthogonal = 0, one_output = 0, no_output = 0;
  for (const auto& fit : offset_fits(1)) {
    const Matrix<Rational> image = fit.map() * fit.offsets.in;
    REQUIRE(image == fit.offsets.out);
    const bool none = is_zero(fit.deviation);
    (none ? least : other) += 1;
    orthogonal += !none && is_zero(fit.deviation.transpose() * fit.offsets.out) ? 1 : 0;
    one_output += fit.offsets.out.size() == 1 ? 1 : 0;
    no_output += is_zero(fit.offsets.out) ? 1 : 0;
  }
  for (const int kind : {least, other, orthogonal, one_output, no_output}) CHECK(kind > 100);
}

TEST_CASE("noisy offsets are regular and singular, in and out of the range of the noise") {
  int regular = 0, singular = 0, inside = 0, outside = 0;
  for (const auto& one : noisy_offsets(1)) {
    const Matrix<Rational> sigma = one.sigma();
    (definiteness(sigma) == Definiteness::kPositiveDefinite ? regular : singular) += 1;
    (solve(sigma, one.offsets.in) ? inside : outside) += 1;
  }
  for (const int kind : {regular, singular, inside, outside}) CHECK(kind > 200);
  CHECK(regular_offsets(1).size() + singular_offsets(1).size() == noisy_offsets(1).size());
}

TEST_CASE("the shortest solution solves and is orthogonal to the kernel") {
  for (const auto& one : noisy_offsets(2)) {
    const Matrix<Rational> second = one.sigma() + one.offsets.in * one.offsets.in.transpose();
    const auto z = shortest_solution(one.sigma(), one.offsets.in);
    REQUIRE(second * z == one.offsets.in);
    REQUIRE(is_zero(null_basis(second).transpose() * z));
  }
}

TEST_CASE("by hand: the limit along Σ = ε diag(1, 2) at b_in = (1, 1)") {
  // H⁻¹b_in = (2, 1)/(2ε + 3).
  const auto limit = limit_of_solution(rows({{1, 0}, {0, 2}}), column({1, 1}));
  CHECK(limit(0) == Rational(2, 3));
  CHECK(limit(1) == Rational(1, 3));
  // diag(1, 0): H⁻¹b_in = (0, 1) whatever ε.
  CHECK(limit_of_solution(rows({{1, 0}, {0, 0}}), column({1, 1})) == column({0, 1}));
}
