// SPDX-License-Identifier: Apache-2.0
#include "kappascope/theory/ledger.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "support/catch.h"

using namespace kappascope::theory;

TEST_CASE("the ledger in the repository is what the checks find") {
  std::vector<LedgerEntry> entries;
  for (const auto& claim : all_claims()) {
    entries.push_back({claim, std::nullopt});
    if (claim.decidable({})) entries.back().verdict = claim.check({});
  }
  const std::string found = "# The ledger of claims\n\nGenerated, see README.md: do not edit.\n\n" +
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
  const auto table = ledger_markdown({{claim, std::nullopt}});
  CHECK(table.find("| P-X | \\|x\\| >= 0 | measured on a run") != std::string::npos);
  Claim trained;
  trained.id = "P-Y";
  trained.study = "a-study";
  CHECK(ledger_markdown({{trained, std::nullopt}}).find("measured, study a-study") !=
        std::string::npos);
}
