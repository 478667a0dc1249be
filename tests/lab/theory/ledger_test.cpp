// SPDX-License-Identifier: Apache-2.0
#include "theory/ledger.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "support/catch.h"
#include "theory/documents/documents.h"
#include "theory/studied.h"

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

TEST_CASE("the ledger in the repository is what the checks find") {
  std::vector<LedgerEntry> entries;
  for (const auto& claim : all_claims()) {
    entries.push_back({.claim = claim, .studies = studied(claim.id)});
    if (claim.decidable({})) entries.back().verdict = verdicts().at(claim.id);
  }
  // None of what the studies found is about a claim that is no more.
  const auto results = nlohmann::json::parse(std::ifstream(KAPPASCOPE_RESULTS));
  std::size_t stored = 0, known = 0;
  for (const auto& study : results.at("studies")) stored += study.at("verdicts").size();
  for (const auto& entry : entries) known += entry.studies.size();
  CHECK(known == stored);
  const std::string found =
      "# The ledger of claims\n\n"
      "Generated, see README.md: do not edit. Proofs are in [PROOFS.md](PROOFS.md).\n\n" +
      ledger_markdown(entries);

  if (const char* approve = std::getenv("KAPPASCOPE_APPROVE");
      approve != nullptr && std::string(approve) == "1") {
    std::ofstream(KAPPASCOPE_LEDGER) << found;
  }
  std::ostringstream approved;
  approved << std::ifstream(KAPPASCOPE_LEDGER).rdbuf();
  INFO("to accept the new ledger, run this test with KAPPASCOPE_APPROVE=1 and read the diff");
  CHECK(found == approved.str());
}

TEST_CASE("a bar in a statement does not end its cell, and a waiting claim says so") {
  Claim claim;
  claim.id = "P-X";
  claim.statement = "|x| >= 0";
  claim.assumptions = "x real";
  claim.needs_run = true;
  const auto table = ledger_markdown({{.claim = claim}});
  CHECK(table.find("| P-X | \\|x\\| >= 0 | x real | measured on a run") != std::string::npos);
  Claim trained;
  trained.id = "P-Y";
  trained.studies = {"a-study", "another"};
  const LedgerEntry entry{.claim = trained, .studies = {{.study = "another"}}};
  CHECK(ledger_markdown({entry}).find("study a-study: not run; study another: undecided") !=
        std::string::npos);
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
    const auto other = claim.check({.seed = 2});
    CHECK(other.outcome == first.outcome);
    CHECK(other.condition == first.condition);
    // What is measured by Monte Carlo is another number for each seed.
    if (first.outcome != Outcome::kMeasured) CHECK(other.witness == first.witness);
    CHECK(other.seed == 2);
  }
}

TEST_CASE("whatever holds says where its proof is read, or what was searched") {
  for (const auto& [id, verdict] : verdicts()) {
    if (verdict.outcome != Outcome::kHolds && verdict.outcome != Outcome::kHoldsUnder) continue;
    CAPTURE(id);
    CHECK((!verdict.proof.empty() || !verdict.sizes.empty()));
    // Printed numbers have no size; every search says what it ran over.
    const bool printed = verdict.proof == "arithmetic on the printed numbers";
    CHECK((printed || !verdict.sizes.empty()));
  }
}

TEST_CASE("the sizes of a search are those of the cases that it compared") {
  // Two tokens at least, of width 3 and more, with any number of seven switches on.
  CHECK(verdicts().at("P-ODD'").sizes.find("switches on = 0 to 7") != std::string::npos);
  CHECK(verdicts().at("P-P1f'").sizes == "d = 1 to 5");
  CHECK(verdicts().at("P-L1").sizes == "n = 1 to 4, m = 1 to 4");
}

TEST_CASE("no condition is another claim's statement word for word") {
  std::set<std::string> statements;
  for (const auto& claim : all_claims()) CHECK(statements.insert(claim.statement).second);
  for (const auto& [id, verdict] : verdicts()) {
    CAPTURE(id);
    CHECK(statements.count(verdict.condition) == 0);
  }
}
