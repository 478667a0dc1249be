// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/lemma2/variance.h"

#include "support/catch.h"

using namespace kappascope::theory;

TEST_CASE("laws have the moments that their construction gives them") {
  for (const auto& law : independent_laws(1, 200)) {
    const auto r = law.expectation([](const Atom& atom) { return atom.gradient; });
    const auto sr = law.expectation([](const Atom& atom) { return atom.feature * atom.gradient; });
    const auto kept_mean =
        law.expectation([](const Atom& atom) { return atom.kept ? atom.feature : Rational(0); });
    CAPTURE(law.text());
    REQUIRE(r == 0);
    REQUIRE(sr == 0);
    REQUIRE(kept_mean == law.keep() * law.mean());
    REQUIRE(law.r2() > 0);
  }
}

TEST_CASE("printed laws keep the printed assumptions, and no more") {
  int dependent = 0;
  for (const auto& law : printed_laws(1, 200)) {
    const auto r = law.expectation([](const Atom& atom) { return atom.gradient; });
    const auto kept_r2 = law.expectation(
        [](const Atom& atom) { return atom.kept ? atom.gradient * atom.gradient : Rational(0); });
    const auto sr = law.expectation([](const Atom& atom) { return atom.feature * atom.gradient; });
    REQUIRE(r == 0);
    REQUIRE(kept_r2 == law.keep() * law.r2());
    dependent += sr == 0 ? 0 : 1;
  }
  CHECK(dependent > 50);
}

TEST_CASE("by hand: p = 1/2, S = 2, r = ±1 has variance 2 at b = 0 and 1 at b = -1") {
  const LemmaTerms at_zero{{1, 2}, 2, 0, 1, 0}, at_minus_one{{1, 2}, 2, 0, 1, -1};
  CHECK(derived_variance({})(at_zero) == 2);
  CHECK(derived_variance({})(at_minus_one) == 1);
  CHECK(published_variance(at_zero) == 1);
  CHECK(published_variance(at_minus_one) == 0);
}

TEST_CASE("the published variance is right exactly when p(1-p)μ²E[r²] = 0") {
  for (const auto& law : independent_laws(2, 400)) {
    const LemmaTerms terms{law.keep(), law.mean(), law.variance(), law.r2(), 1};
    const auto lost = terms.p * (1 - terms.p) * terms.mu * terms.mu * terms.r2;
    REQUIRE((published_variance(terms) == derived_variance({})(terms)) == (lost == 0));
  }
}
