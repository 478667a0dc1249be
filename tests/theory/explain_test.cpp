// SPDX-License-Identifier: Apache-2.0
#include "kappascope/theory/explain.h"

#include <algorithm>
#include <sstream>

#include "support/catch.h"

using namespace kappascope::theory;
using Catch::Matchers::Contains;

namespace {

Claim claim_named(const std::string& id) {
  Claim claim;
  claim.id = id;
  claim.source = "a document";
  claim.statement = "κ of " + id;
  claim.assumptions = "none";
  claim.derivation = "derivation of " + id;
  return claim;
}

Verdict refutation() {
  Verdict verdict;
  verdict.outcome = Outcome::kRefuted;
  verdict.left = "λmax", verdict.right = "bound";
  verdict.measured = 2, verdict.predicted = 3;
  verdict.lower = 1.5, verdict.upper = 2.5;
  verdict.route = "Monte Carlo";
  verdict.witness = "Σ = [2 0; 0 1]";
  return verdict;
}

}  // namespace

TEST_CASE("an explanation holds statement, source, derivation, numbers, witness and correction") {
  const auto claim = claim_named("P-X"), corrected = claim_named("P-X'");
  const auto text = explain(claim, refutation(), &corrected);
  for (const auto* part : {"κ of P-X\n",
                           "a document",
                           "derivation of P-X\n",
                           "refuted",
                           "λmax: 2 [1.5, 2.5]; bound: 3",
                           "Σ = [2 0; 0 1]",
                           "P-X': κ of P-X'",
                           "derivation of P-X'"})
    CHECK_THAT(text, Contains(part));
}

TEST_CASE("an explanation begins with an example, and prints a condition once") {
  const auto claim = claim_named("P-X");
  auto corrected = claim_named("P-X'");
  auto verdict = refutation();
  verdict.witness += " | Σ = 0";
  verdict.condition = corrected.statement;
  const auto text = explain(claim, verdict, &corrected);
  CHECK(text.find("example       Σ = [2 0; 0 1]\n") < text.find("source"));
  CHECK_THAT(text, Contains("more          Σ = 0\n"));
  CHECK(text.find(verdict.condition) == text.rfind(verdict.condition));
  verdict.condition = "another";
  CHECK_THAT(explain(claim, verdict, &corrected), Contains("condition     another\n"));
}

TEST_CASE("a claim without a verdict says what it waits for") {
  auto claim = claim_named("P-X");
  claim.needs_run = true;
  CHECK_THAT(explain(claim, {}, nullptr), Contains("--run RUN"));
  claim.needs_run = false;
  claim.studies = {"a-study", "another"};
  CHECK_THAT(explain(claim, {}, nullptr), Contains("a-study, another"));
}

TEST_CASE("a row of the table is one line, and says where it leaves off") {
  auto claim = claim_named("P-X'");
  CHECK(table_row(claim, refutation()) == "P-X'       refuted                  κ of P-X'\n");
  claim.statement.clear();
  for (int i = 0; i < 60; ++i) claim.statement += "λλλλ ";
  const auto row = table_row(claim, refutation());
  CHECK(std::count(row.begin(), row.end(), '\n') == 1);
  CHECK_THAT(row, Catch::Matchers::EndsWith("λλλλ …\n"));
}

TEST_CASE("lines are at most 96 characters, counted as a reader counts them") {
  auto claim = claim_named("P-X");
  claim.statement.clear();
  for (int i = 0; i < 60; ++i) claim.statement += "λλλλλ ";
  std::istringstream lines(explain(claim, refutation(), nullptr));
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto characters = std::count_if(
        line.begin(), line.end(), [](unsigned char byte) { return (byte & 0xC0U) != 0x80U; });
    longest = std::max(longest, static_cast<std::size_t>(characters));
  }
  CHECK(longest <= 96);
  CHECK(longest > 85);
}
