// SPDX-License-Identifier: Apache-2.0
#include "theory/exact/formal_sum.h"

#include <cmath>

#include "support/catch.h"

using namespace kappascope::theory;

TEST_CASE("sums are equal exactly when their coefficients are, and zeros leave no trace") {
  const auto root2 = FormalSum::symbol(2), root3 = FormalSum::symbol(3);
  CHECK(root2 + root3 - root2 == root3);
  CHECK(root2 - root2 == FormalSum());
  CHECK(FormalSum(Rational(0)) == FormalSum());
  CHECK(Rational(0) * root2 == FormalSum());
  CHECK_FALSE(root2 == root3);
  CHECK_FALSE(root2 == FormalSum(Rational(2)));
}

TEST_CASE("a sum has a value and a text") {
  const auto sum =
      Rational(3, 2) * FormalSum::symbol(4) - FormalSum::symbol(9) + FormalSum(Rational(1));
  CHECK(sum.to_double([](double k) { return std::sqrt(k); }) == Approx(1));
  CHECK(sum.text("√") == "1 + 3/2·√(4) - √(9)");
  CHECK(FormalSum().text("√") == "0");
  CHECK((Rational(-1) * FormalSum::symbol(2)).text("√") == "-√(2)");
}
