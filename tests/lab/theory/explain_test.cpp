// SPDX-License-Identifier: Apache-2.0
#include "theory/explain.h"

#include <algorithm>
#include <sstream>

#include "support/catch.h"
#include "theory/studied.h"

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

TEST_CASE("an explanation holds quote, reading, verdict, witness, correction and place") {
  auto claim = claim_named("P-X");
  const auto corrected = claim_named("P-X'");
  claim.quote = "κ always grows";
  claim.code = "theory/families/a.cpp";
  auto verdict = refutation();
  verdict.condition = "for Σ = I";
  verdict.cases = 12;
  const auto text = explain(claim, verdict, &corrected);
  for (const auto* part : {"P-X           a document\n",
                           "claimed       “κ always grows”\n",
                           "read as       κ of P-X\n",
                           "verdict       Refuted. What is true: for Σ = I.\n",
                           "derivation of P-X\n",
                           "λmax: 2 [1.5, 2.5]; bound: 3",
                           "P-X': κ of P-X'",
                           "derivation of P-X'",
                           "how sure      witness: Monte Carlo, 12 cases",
                           "code          theory/families/a.cpp\n"})
    CHECK_THAT(text, Contains(part));
}

TEST_CASE("a witness is worked line by line, and brackets stay whole") {
  auto verdict = refutation();
  verdict.witness = "Σ = [2 0; 0 1], μ = 1: κ = 2; then 1 | Σ = 0";
  CHECK_THAT(explain(claim_named("P-X"), verdict, nullptr),
             Contains("witness       Σ = [2 0; 0 1], μ = 1\n              κ = 2\n              "
                      "then 1\n              Σ = 0\n"));
}

TEST_CASE("one of the ten findings is explained with its worked witness and its meaning") {
  const auto* claim = find_claim("P-P1f");
  REQUIRE(claim != nullptr);
  const auto text = explain(*claim, {}, nullptr);
  CHECK_THAT(text, Contains("κ(Σ) = 2, κ(Σ + μμᵀ) = 1."));
  CHECK_THAT(text, Contains("in training"));
}

TEST_CASE("a claim without a verdict says what it waits for") {
  auto claim = claim_named("P-X");
  claim.needs_run = true;
  CHECK_THAT(explain(claim, {}, nullptr), Contains("--run RUN"));
  claim.needs_run = false;
  claim.studies = {"a-study", "another"};
  CHECK_THAT(explain(claim, {}, nullptr), Contains("sweep experiments/small/another.ini"));
  claim.studies.clear();
  claim.open = "a run on CIFAR-100";
  CHECK_THAT(explain(claim, {}, nullptr),
             Contains("Undecided. It would take: a run on CIFAR-100."));
}

TEST_CASE("what studies found is told with its numbers, its chance and its command") {
  auto claim = claim_named("P-X");
  claim.studies = {"a-study"};
  CHECK_THAT(explain(claim, {}, nullptr),
             Contains("For studies to decide, which have not been run."));
  kappascope::study::ClaimVerdict found;
  found.study = "a-study";
  found.verdict = refutation();
  found.verdict.condition = "loss of PGB +0.1";
  found.verdict.p = 0.017;
  found.verdict.q = 0.061;
  const auto text = explain(claim, {}, nullptr, {found});
  for (const auto* part : {"verdict       By studies: refuted (a-study).\n",
                           "study         a-study: refuted\n",
                           "  numbers     λmax: 2 [1.5, 2.5]; bound: 3\n",
                           "p 0.017; q 0.061 over all claims",
                           "  in words    loss of PGB +0.1\n",
                           "again         kappascope sweep experiments/small/a-study.ini\n"})
    CHECK_THAT(text, Contains(part));
}

TEST_CASE("the results of the repository's studies are in the program") {
  const auto found = studied("P-X2");
  REQUIRE(found.size() == 2);
  for (const auto& one : found) {
    CHECK(one.study.starts_with("pgb-"));
    CHECK_FALSE(one.verdict.condition.empty());
  }
  CHECK(studied("P-L1").empty());
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
