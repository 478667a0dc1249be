// SPDX-License-Identifier: Apache-2.0
#include "lab/report/markdown.h"

#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include "support/catch.h"

using namespace kappascope::study;
using Catch::Contains;
using kappascope::reports::study_markdown;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

ClaimVerdict verdict(const std::string& claim, Outcome outcome) {
  ClaimVerdict out{.claim = claim, .source = "A document, section 4", .statement = "|x| grows"};
  auto& v = out.verdict;
  v.outcome = outcome;
  v.condition = "loss | 5 pairs";
  v.left = "loss of A minus B";
  v.measured = -0.25;
  v.lower = -0.5;
  return out;
}

StudyResult result_with(const ClaimVerdict& verdict) {
  StudyResult result{.name = "a-study",
                     .command = "kappascope sweep a-study.ini",
                     .data = "mnist (60000 training, 10000 test images)",
                     .steps = "100",
                     .seeds = 5,
                     .runs = 10,
                     .ended = 9};
  result.arms = {{.arm = "A",
                  .runs = 5,
                  .diverged = 1,
                  .parameters = 1234,
                  .memory = 3 << 20,
                  .probing = 0.015,
                  .spikes = 0},
                 {.arm = "B"},
                 {.arm = "C", .runs = 5, .parameters = 1851, .memory = 6 << 20}};
  Comparison c;
  c.metric = "loss/test";
  c.condition = "rate 1";
  c.arm = "A";
  c.control = "B";
  c.arm_median = 1.5;
  c.control_median = 1.75;
  c.difference = {.pairs = 5, .mean = -0.25, .lower = -0.5, .upper = -0.125, .detectable = 0.1};
  c.corrected_p = kNaN;
  result.comparisons.push_back(c);
  result.verdicts.push_back(verdict);
  return result;
}

std::string page(const ClaimVerdict& verdict) {
  return study_markdown({result_with(verdict)});
}

std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("results have every verdict, arm and comparison with its numbers") {
  const auto text = page(verdict("P-A", Outcome::kRefuted));
  CHECK_THAT(text,
             Contains("| P-A | [a-study](#a-study) | loss of A minus B | -0.25 | – | 0 | 5 | – | – "
                      "| refuted |"));
  CHECK_THAT(text, Contains("| P-A | \\|x\\| grows (A document, section 4) | refuted | loss \\| "));
  CHECK_THAT(text, Contains("5 seeds, 9 of 10 runs"));
  CHECK_THAT(text, Contains("\n    kappascope sweep a-study.ini\n"));
  CHECK_THAT(text, Contains("| A | 5 | 1 | 1234 | 0 | 1.5 % |"));
  CHECK_THAT(text, Contains("| B | 0 | 0 | – | – | – |"));
  CHECK_THAT(text, Contains("| C | 5 | 0 | 1851 (1.5 x) | – | – |"));
  CHECK_THAT(
      text,
      Contains("| loss/test | rate 1 | A | 1.5 | 1.75 | -0.25 | -0.5 to -0.125 | 5 | – | 0.1 "
               "|"));
}

TEST_CASE("each outcome has its words, and what could not be measured no number") {
  CHECK_THAT(page(verdict("P-A", Outcome::kHoldsUnder)), Contains("| holds under a condition |"));
  CHECK_THAT(page(verdict("P-A", Outcome::kMeasured)), Contains("| measured |"));
  auto lacking = verdict("P-A", Outcome::kUndecided);
  lacking.verdict.left = "";
  CHECK_THAT(page(lacking),
             Contains("| P-A | [a-study](#a-study) |  | – | – | – | 5 | – | – | undecided |"));
  CHECK_THAT(page(verdict("P-A", Outcome::kTooFewRuns)), Contains("| too few runs |"));
  CHECK_THAT(page(verdict("P-A", Outcome::kNoRegime)), Contains("| regime not reached |"));
  auto tested = verdict("P-A", Outcome::kHoldsUnder);
  tested.verdict.p = 0.001;
  tested.verdict.q = 0.004;
  CHECK_THAT(page(tested), Contains("| 5 | 0.001 | 0.004 | holds under a condition |"));
}

TEST_CASE("no name of a study is a tag, a link or a row of its own") {
  auto hostile = verdict("P-A", Outcome::kRefuted);
  const std::string evil = "<script>x</script>[a](javascript:x)\n| b |";
  for (auto* text : {&hostile.claim,
                     &hostile.source,
                     &hostile.statement,
                     &hostile.verdict.condition,
                     &hostile.verdict.left,
                     &hostile.verdict.right})
    *text = evil;
  auto result = result_with(hostile);
  for (auto* text : {&result.name,
                     &result.data,
                     &result.steps,
                     &result.arms[0].arm,
                     &result.comparisons[0].metric,
                     &result.comparisons[0].condition,
                     &result.comparisons[0].arm,
                     &result.comparisons[0].control})
    *text = evil;
  result.command = evil;
  const auto text = study_markdown({result});
  // The command is shown as code, indented by four blanks, where nothing is a tag.
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK_FALSE(line.starts_with("| b |"));
    if (line.starts_with("    ")) continue;
    // A backslash before it makes a bracket a letter.
    for (auto at = line.find("\\<"); at != std::string::npos; at = line.find("\\<"))
      line.erase(at, 2);
    CHECK_THAT(line, !Contains("<script") && !Contains("](javascript"));
  }
}

TEST_CASE("a result of an earlier definition says so at its head") {
  auto old = result_with(verdict("P-A", Outcome::kRefuted));
  CHECK_THAT(study_markdown({old}), !Contains("earlier definition"));
  mark_outdated(old);
  CHECK_THAT(study_markdown({old}), Contains("9 of 10 runs. Of an earlier definition"));
  CHECK_THAT(study_markdown({old}), Contains("| undecided |") && !Contains("| refuted |"));
}

TEST_CASE("a study that recorded neither data nor claims has no empty places for them") {
  StudyResult bare{.name = "bare", .seeds = 2, .runs = 4, .ended = 4};
  bare.arms = {{.arm = "A", .runs = 2}, {.arm = "B", .runs = 2}};
  const auto text = study_markdown({bare});
  CHECK_THAT(text, Contains("\n## bare\n\n2 seeds, 4 of 4 runs.\n\n| arm |"));
  CHECK_THAT(text, !Contains("All verdicts"));
}

TEST_CASE("results that an earlier version stored come out as it wrote them") {
  const std::string experiments = KAPPASCOPE_EXPERIMENTS;
  const auto stored = parse_results(text_of(experiments + "/results.json"));
  CHECK(study_markdown(stored) == text_of(experiments + "/RESULTS.md"));
}
