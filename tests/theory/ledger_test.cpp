// SPDX-License-Identifier: Apache-2.0
#include "kappascope/theory/ledger.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/catch.h"
#include "theory/documents/documents.h"

using namespace kappascope::theory;

TEST_CASE("the ledger in the repository is what the checks find") {
  std::vector<LedgerEntry> entries;
  for (const auto& claim : all_claims()) {
    entries.push_back({.claim = claim});
    if (claim.decidable({})) entries.back().verdict = claim.check({});
  }
  // What the studies found, as `kappascope results` wrote it.
  const auto results = nlohmann::json::parse(std::ifstream(KAPPASCOPE_RESULTS));
  for (const auto& study : results.at("studies")) {
    for (const auto& verdict : study.at("verdicts")) {
      const std::string id = verdict.at("claim");
      const auto entry =
          std::ranges::find(entries, id, [](const LedgerEntry& e) { return e.claim.id; });
      REQUIRE(entry != entries.end());
      entry->studies.push_back({study.at("study"), verdict.at("outcome")});
    }
  }
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
  claim.needs_run = true;
  const auto table = ledger_markdown({{.claim = claim}});
  CHECK(table.find("| P-X | \\|x\\| >= 0 | measured on a run") != std::string::npos);
  Claim trained;
  trained.id = "P-Y";
  trained.studies = {"a-study", "another"};
  const LedgerEntry entry{.claim = trained, .studies = {{"another", "undecided"}}};
  CHECK(ledger_markdown({entry}).find("study a-study: not run; study another: undecided") !=
        std::string::npos);
}

TEST_CASE("every witness that is worked out contradicts a claim that is refuted") {
  CHECK(findings().size() == 10);
  for (const auto& finding : findings()) {
    CAPTURE(finding.claim);
    const auto witness = finding.witness();
    CHECK(witness.contradicts);
    CHECK(witness.lines.size() >= 2);
    const auto* claim = find_claim(finding.claim);
    REQUIRE(claim != nullptr);
    CHECK(claim->check({}).outcome == Outcome::kRefuted);
    CHECK(find_claim(finding.claim + "'") != nullptr);
  }
}

TEST_CASE("a ledger parts what is published from what is ours, and says how sure it is") {
  Claim ours;
  ours.id = "P-X'";
  ours.standing = Standing::kOurs;
  Verdict proved;
  proved.outcome = Outcome::kHolds;
  proved.route = "exact";
  proved.proof = "theory/PROOFS.md 1";
  proved.cases = 7;
  Claim open;
  open.id = "P-Y";
  open.open = "a study";
  const auto text = ledger_markdown({{.claim = open}, {.claim = ours, .verdict = proved}});
  CHECK(text.find("| P-Y |  | undecided | would decide it: a study |") != std::string::npos);
  CHECK(text.find("## Ours") < text.find("| P-X' |"));
  CHECK(text.find("## Published") < text.find("| P-Y |"));
  CHECK(text.find("| proved (theory/PROOFS.md 1); exact | 7 |") != std::string::npos);
}
