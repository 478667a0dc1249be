// SPDX-License-Identifier: Apache-2.0
#include "theory/exact/linalg.h"

#include "support/catch.h"

using namespace kappascope::theory;

namespace {

Matrix<Rational> matrix(Index rows, Index cols, const std::vector<Rational>& entries) {
  Matrix<Rational> a(rows, cols);
  for (Index i = 0; i < a.size(); ++i) {
    a(i / cols, i % cols) = entries[static_cast<std::size_t>(i)];
  }
  return a;
}

}  // namespace

TEST_CASE("a linear system has the solution that satisfies it, or none") {
  const auto a = matrix(3, 2, {1, 2, 2, 4, 0, 1});
  const auto b = matrix(3, 1, {3, 6, 1});
  const auto x = solve(a, b);
  REQUIRE(x);
  CHECK(a * *x == b);
  CHECK_FALSE(solve(a, matrix(3, 1, {3, 7, 1})));
  const auto singular = matrix(2, 2, {1, 1, 1, 1});
  const auto some = solve(singular, matrix(2, 1, {2, 2}));
  REQUIRE(some);
  CHECK(singular * *some == matrix(2, 1, {2, 2}));
}

TEST_CASE("rank and null space add up and the null space is one") {
  const auto a = matrix(2, 3, {1, 2, 3, 2, 4, 6});
  CHECK(rank(a) == 1);
  const auto basis = null_basis(a);
  REQUIRE(basis.cols() == 2);
  CHECK(rank(basis) == 2);
  CHECK(a * basis == Matrix<Rational>::zero(2, 2));
  CHECK(null_basis(matrix(1, 1, {5})).cols() == 0);
  CHECK(null_basis(matrix(1, 1, {0})).cols() == 1);
}

TEST_CASE("definiteness is told from semidefiniteness and from neither") {
  CHECK(definiteness(matrix(2, 2, {2, 1, 1, 2})) == Definiteness::kPositiveDefinite);
  CHECK(definiteness(matrix(2, 2, {1, 1, 1, 1})) == Definiteness::kPositiveSemidefinite);
  CHECK(definiteness(matrix(2, 2, {0, 0, 0, 1})) == Definiteness::kPositiveSemidefinite);
  CHECK(definiteness(matrix(2, 2, {0, 1, 1, 5})) == Definiteness::kNeither);
  CHECK(definiteness(matrix(2, 2, {1, 2, 2, 1})) == Definiteness::kNeither);
  CHECK(definiteness(matrix(1, 1, {0})) == Definiteness::kPositiveSemidefinite);
}

TEST_CASE("a spectrum of integers is confirmed, any other is not guessed") {
  const auto spectrum = integer_spectrum(matrix(2, 2, {2, 1, 1, 2}));
  REQUIRE(spectrum);
  CHECK(*spectrum == std::vector<Rational>{1, 3});
  CHECK_FALSE(integer_spectrum(matrix(2, 2, {1, 1, 1, 2})));
  CHECK_FALSE(integer_spectrum(matrix(1, 1, {{1, 2}})));
}

TEST_CASE("matrices, columns and numbers read as a person would write them") {
  CHECK(text(matrix(2, 2, {2, 0, 0, {1, 2}})) == "[2 0; 0 1/2]");
  CHECK(text(matrix(2, 1, {0, 1})) == "(0, 1)");
  CHECK(text(matrix(1, 1, {3})) == "3");
  CHECK(kron_identity(matrix(1, 2, {1, 2}), 2) == matrix(2, 4, {1, 0, 2, 0, 0, 1, 0, 2}));
}
