// SPDX-License-Identifier: Apache-2.0
// Each check is shown to be able to fail: it is fed a deliberately wrong statement, which it must
// refute, and a right one, which it must accept.
#include "lab/theory/twins/twins.h"

#include <cmath>
#include <iostream>

#include "support/catch.h"

namespace kappascope::theory {
namespace {

Twins all_twins() {
  Twins all;
  for (auto* family : {&dichotomy_twins,
                       &offsets_twins,
                       &offset_routes_twins,
                       &proposition1_twins,
                       &descent_twins,
                       &variance_control_twins,
                       &lemma2_twins,
                       &centring_twins,
                       &bias_redundancy_twins,
                       &asger_twins,
                       &isotropy_twins,
                       &costs_twins})
    all.merge(family());
  return all;
}

}  // namespace

Verdict read_as(Verdict verdict, double expected) {
  REQUIRE(verdict.outcome == Outcome::kMeasured);
  const bool as_stated = std::abs(verdict.measured - expected) < 1e-12;
  verdict.outcome = as_stated ? Outcome::kHolds : Outcome::kRefuted;
  return verdict;
}

TEST_CASE("every claim has a twin") {
  const auto twins = all_twins();
  for (const auto& claim : all_claims()) {
    CAPTURE(claim.id);
    CHECK(twins.count(claim.id) == (claim.check ? 1 : 0));
  }
}

TEST_CASE("every check refutes a wrong statement and accepts a right one") {
  for (const auto& [id, twin] : all_twins()) {
    CAPTURE(id);
    const auto wrong = twin.wrong(), right = twin.right();
    CHECK(wrong.outcome == Outcome::kRefuted);
    CHECK(right.outcome == Outcome::kHolds);
    std::cout << id << ": wrong statement " << to_string(wrong.outcome) << ", right statement "
              << to_string(right.outcome) << '\n';
  }
}

}  // namespace kappascope::theory
