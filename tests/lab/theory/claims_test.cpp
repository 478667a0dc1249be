// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "kappascope/core/error.h"
#include "support/catch.h"
#include "theory/claim.h"

using namespace kappascope::theory;

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
