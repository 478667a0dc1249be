// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "kappascope/core/error.h"
#include "kappascope/theory/claim.h"
#include "support/catch.h"

using namespace kappascope::theory;

namespace {

/// Of every claim that is decided without a run, at the first seed; computed once.
const std::map<std::string, Verdict>& verdicts() {
  static const auto all = [] {
    std::map<std::string, Verdict> found;
    for (const auto& claim : all_claims()) {
      if (claim.decidable({})) found[claim.id] = claim.check({});
    }
    return found;
  }();
  return all;
}

}  // namespace

TEST_CASE("every claim is complete and its id is its own") {
  std::set<std::string> ids;
  for (const auto& claim : all_claims()) {
    CAPTURE(claim.id);
    CHECK(ids.insert(claim.id).second);
    CHECK_FALSE(claim.source.empty());
    CHECK_FALSE(claim.statement.empty());
    CHECK_FALSE(claim.assumptions.empty());
    CHECK_FALSE(claim.derivation.empty());
    CHECK((claim.check != nullptr || !claim.studies.empty() || !claim.open.empty()));
    CHECK((claim.open.empty() || (claim.check == nullptr && claim.studies.empty())));
    CHECK((claim.measure != nullptr) == !claim.studies.empty());
  }
}

TEST_CASE("every refuted claim has a witness, a condition and a corrected claim that holds") {
  for (const auto& [id, verdict] : verdicts()) {
    CAPTURE(id);
    CHECK(verdict.cases > 0);
    CHECK_FALSE(verdict.route.empty());
    CHECK(verdict.outcome != Outcome::kUndecided);
    if (verdict.outcome == Outcome::kMeasured) {
      CHECK_FALSE(verdict.condition.empty());
      CHECK(verdict.lower.value() <= verdict.measured);
      CHECK(verdict.measured <= verdict.upper.value());
      continue;
    }
    if (verdict.outcome == Outcome::kHolds) {
      CHECK(verdict.witness.empty());
      CHECK(verdict.margin <= verdict.tolerance);
      continue;
    }
    CHECK_FALSE(verdict.witness.empty());
    CHECK_FALSE(verdict.condition.empty());
    REQUIRE(verdicts().count(id + "'") == 1);
    CHECK(verdicts().at(id + "'").outcome == Outcome::kHolds);
  }
}

TEST_CASE("no verdict changes with the seed") {
  for (const auto& claim : all_claims()) {
    if (!claim.decidable({})) continue;
    CAPTURE(claim.id);
    const auto& first = verdicts().at(claim.id);
    for (const std::uint64_t seed : {2U, 3U}) {
      const auto other = claim.check({.seed = seed});
      CHECK(other.outcome == first.outcome);
      CHECK(other.condition == first.condition);
      // What is measured by Monte Carlo is another number for each seed.
      if (first.outcome != Outcome::kMeasured) CHECK(other.witness == first.witness);
      CHECK(other.seed == seed);
    }
  }
}

TEST_CASE("every published claim has its quote, of at most fifteen words") {
  for (const auto& claim : all_claims()) {
    CAPTURE(claim.id);
    CHECK(claim.quote.empty() == (claim.standing == Standing::kOurs));
    std::istringstream words(claim.quote);
    std::string word;
    int count = 0;
    while (words >> word) ++count;
    CHECK(count <= 15);
  }
}

TEST_CASE("whatever holds says where its proof is read, or what was searched") {
  for (const auto& [id, verdict] : verdicts()) {
    if (verdict.outcome != Outcome::kHolds && verdict.outcome != Outcome::kHoldsUnder) continue;
    CAPTURE(id);
    CHECK((!verdict.proof.empty() || !verdict.sizes.empty()));
  }
}

TEST_CASE("no condition is another claim's statement word for word") {
  std::set<std::string> statements;
  for (const auto& claim : all_claims()) CHECK(statements.insert(claim.statement).second);
  for (const auto& [id, verdict] : verdicts()) {
    CAPTURE(id);
    CHECK(statements.count(verdict.condition) == 0);
  }
}

TEST_CASE("a measured claim refuses to be decided without a run") {
  for (const auto& claim : all_claims()) {
    if (claim.needs_run) CHECK_THROWS_AS(claim.check({}), kappascope::Error);
  }
}

TEST_CASE("a verdict is one JSON object, and infinity survives it") {
  Claim claim;
  claim.id = "P-X";
  Verdict verdict;
  verdict.outcome = Outcome::kRefuted;
  verdict.measured = std::numeric_limits<double>::infinity();
  verdict.predicted = std::numeric_limits<double>::quiet_NaN();
  verdict.lower = 0.5;
  verdict.witness = "\"Σ\" = 1";
  const auto json = nlohmann::json::parse(verdict_json(claim, verdict));
  CHECK(json["claim"] == "P-X");
  CHECK(json["outcome"] == "refuted");
  CHECK(json["measured"] == "inf");
  CHECK(json["predicted"].is_null());
  CHECK(json["lower"] == 0.5);
  CHECK(json["upper"].is_null());
  CHECK(json["witness"] == verdict.witness);
}
