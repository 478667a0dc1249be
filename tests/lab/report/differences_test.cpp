// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "lab/report/builders.h"
#include "lab/report/sample_study.h"
#include "reports/html/parts/sections.h"
#include "support/catch.h"

namespace kappascope::reports {
namespace {

std::vector<Finding> found_in(const std::filesystem::path& root,
                              const std::vector<std::string>& metrics = {"loss/test"}) {
  const auto sample = read_sample(root, "control", metrics);
  return study_findings(view_of(sample.result, sample.runs));
}

study::ClaimVerdict verdict(const std::string& claim,
                            study::Outcome outcome,
                            const std::string& condition,
                            const std::string& statement = "") {
  study::ClaimVerdict out{.claim = claim, .statement = statement};
  out.verdict.outcome = outcome;
  out.verdict.condition = condition;
  return out;
}

std::vector<Finding> of_kind(const std::vector<Finding>& all, const std::string& id) {
  std::vector<Finding> some;
  std::ranges::copy_if(all, std::back_inserter(some), [&](const Finding& f) { return f.id == id; });
  return some;
}

bool says(const std::string& text, const std::string& part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a difference is told with its medians, interval and pairs", "[study]") {
  const TemporaryFolder folder;
  write_study(folder / "s", -0.5, 0.01);
  const auto told = of_kind(found_in(folder / "s"), "told_apart");
  REQUIRE(told.size() == 1);
  CHECK(told[0].text == "biased: lower loss/test than control, by 0.5 (medians 0.75 and 1.25).");
  CHECK(says(told[0].certainty, "95 %: −0.518 to −0.482, 4 pairs of seeds, p < 0.001"));
  CHECK(says(told[0].certainty, "(Holm)"));
}

TEST_CASE("where nothing is significant the page says what would have been found", "[study]") {
  const TemporaryFolder folder;
  write_study(folder / "s", 0, 0.1);
  const auto found = found_in(folder / "s");
  CHECK(of_kind(found, "told_apart").empty());
  const auto alike = of_kind(found, "not_told_apart");
  REQUIRE(alike.size() == 1);
  CHECK(alike[0].text == "loss/test: biased is not significantly different from control.");
  CHECK(alike[0].certainty == "Would have found a difference of 0.24.");
}

TEST_CASE("conditions are summed up, the largest difference first", "[study]") {
  const TemporaryFolder folder;
  write_study(folder / "s", 0.2, 0.01, {"noise 0"});
  write_study(folder / "s", 0.5, 0.01, {"noise 1"});
  write_study(folder / "s", -0.3, 0.01, {"noise 2"});
  write_study(folder / "s", 0, 0.1, {"noise 3"});
  const auto told = of_kind(found_in(folder / "s"), "told_apart");
  REQUIRE(told.size() == 1);
  CHECK(says(told[0].text,
             "biased: higher loss/test than control under 2 of 4 conditions, by up to 0.5"));
  CHECK(says(told[0].text, ", noise 1)."));
  CHECK(says(told[0].certainty, "There 95 %: 0.482 to 0.518"));
  CHECK(says(told[0].certainty, "Lower under 1. Not significant under 1. Would have found"));
}

TEST_CASE("at most eight are told, the largest effects first", "[study]") {
  const TemporaryFolder folder;
  std::vector<std::string> metrics;
  for (int i = 0; i < 10; ++i) metrics.push_back("user/" + std::to_string(i));
  for (int seed = 1; seed <= 5; ++seed) {
    StudyRunOptions run{.seed = seed};
    for (const auto& metric : metrics) run.more[metric] = 0;
    write_study_run(folder / "s", run);
    run.arm = "biased";
    for (std::size_t i = 0; i < metrics.size(); ++i)
      run.more[metrics[i]] = static_cast<double>(i + 1) + 0.01 * seed;
    write_study_run(folder / "s", run);
  }
  const auto found = found_in(folder / "s", metrics);
  const auto told = of_kind(found, "told_apart");
  REQUIRE(told.size() == 8);
  CHECK(says(told[0].text, "user/9"));
  CHECK(says(told[7].text, "user/2"));
  REQUIRE(of_kind(found, "told_apart_more").size() == 1);
  CHECK(says(of_kind(found, "told_apart_more")[0].text, "2 more are significant"));
  CHECK(says(of_kind(found, "extent")[0].certainty, "10 comparisons made; 10 significant, 0 not"));
}

TEST_CASE("one seed tells nothing apart, and that is a warning", "[study]") {
  const TemporaryFolder folder;
  write_study(folder / "s", 1, 0, {""}, 1);
  const auto found = found_in(folder / "s");
  REQUIRE(!found.empty());
  CHECK(found[0].id == "too_few_pairs");
  CHECK(found[0].warning);
  CHECK(of_kind(found, "told_apart").empty());
}

TEST_CASE("differences that are all equal are told as they are", "[study]") {
  const TemporaryFolder folder;
  for (int seed = 1; seed <= 3; ++seed) {
    write_study_run(folder / "s", {.seed = seed, .more = {{"user/same", 2}, {"user/shifted", 1}}});
    write_study_run(
        folder / "s",
        {.arm = "biased", .seed = seed, .more = {{"user/same", 2}, {"user/shifted", 3}}});
  }
  const auto alike =
      of_kind(found_in(folder / "s", {"user/same", "user/shifted"}), "not_told_apart");
  REQUIRE(alike.size() == 2);
  CHECK(alike[0].certainty == "1 comparison equal in every pair.");
  CHECK(says(alike[1].certainty, "same difference in every pair"));
}

TEST_CASE("runs that diverged are named and counted", "[study]") {
  const TemporaryFolder folder;
  write_study(folder / "s", -0.5, 0.01, {"noise 1"});
  write_study_run(folder / "s",
                  {.arm = "biased", .condition = "noise 1", .seed = 5, .failed = true});
  write_study_run(folder / "s", {.condition = "noise 1", .seed = 5});
  write_study_run(folder / "s", {.condition = "noise 1", .seed = 6});
  const auto found = found_in(folder / "s");
  const auto diverged = of_kind(found, "diverged");
  REQUIRE(diverged.size() == 1);
  CHECK(diverged[0].text == "biased: 1 of 5 runs diverged (seed 5 under noise 1).");
  CHECK(diverged[0].warning);
  const auto left_out = of_kind(found, "left_out");
  REQUIRE(left_out.size() == 1);
  CHECK(left_out[0].text == "1 of 1 comparison is made without some of the runs.");
  CHECK(says(left_out[0].certainty, "1 time a run of either arm has no partner"));
  CHECK(says(left_out[0].certainty, "1 time a pair has a run that diverged"));
  CHECK(says(of_kind(found, "told_apart")[0].certainty, "4 pairs of seeds"));
  CHECK(says(of_kind(found, "told_apart")[0].certainty, "1 pair left out"));
}

TEST_CASE("whole pairs leave nothing to say, one condition is named", "[study]") {
  const TemporaryFolder folder;
  write_study(folder / "s", -0.5, 0.01, {"noise 1"});
  const auto found = found_in(folder / "s");
  CHECK(of_kind(found, "left_out").empty());
  CHECK(of_kind(found, "diverged").empty());
  CHECK(of_kind(found, "extent")[0].text ==
        "8 runs: 2 arms, 4 seeds. Every arm is compared with control, by pairs of runs of one "
        "seed. All under noise 1.");
}

TEST_CASE("a long condition of a verdict ends with a clause", "[study]") {
  const TemporaryFolder folder;
  write_study(folder / "s", -0.5, 0.01);
  const std::string clause = "a clause of forty letters, more or less; ";
  std::string text;
  for (int i = 0; i < 20; ++i) text += clause;
  using enum study::Outcome;
  study::write_result(folder / "s",
                      {.verdicts = {verdict("P-1", kHolds, text), verdict("P-2", kHolds, clause)}});
  const auto found = found_in(folder / "s");
  CHECK(found[0].certainty.size() < 400);
  CHECK(says(found[0].certainty, "less; a clause of forty letters, more or less; … (all of it"));
  CHECK(found[1].certainty == clause);
}

TEST_CASE("verdicts come first, in words", "[study]") {
  const TemporaryFolder folder;
  write_study(folder / "s", -0.5, 0.01);
  using enum study::Outcome;
  study::write_result(folder / "s",
                      {.verdicts = {verdict("P-1", kHoldsUnder, "on four seeds", "b helps"),
                                    verdict("P-2", kRefuted, ""),
                                    verdict("P-3", kUndecided, "too few"),
                                    verdict("P-4", kMeasured, "")}});
  const auto found = found_in(folder / "s");
  REQUIRE(found.size() > 4);
  CHECK(found[0].text == "Holds under a condition: P-1 – b helps");
  CHECK(found[0].certainty == "on four seeds");
  CHECK(found[1].text == "Refuted: P-2.");
  CHECK(found[2].text == "Undecided: P-3.");
  CHECK(found[3].text == "Measured: P-4.");
  CHECK(found[4].id == "told_apart");
  // Each is an answer: no line stands for several of them.
  CHECK_FALSE(says(findings_html(found, false), "findings</summary>"));
}

}  // namespace kappascope::reports
