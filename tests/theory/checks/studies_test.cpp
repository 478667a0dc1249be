// SPDX-License-Identifier: Apache-2.0
// Verdicts of studies on runs that say just what a test wants them to say.
#include <cmath>
#include <random>

#include "kappascope/core/error.h"
#include "support/catch.h"
#include "theory/checks/studies/contrasts.h"
#include "theory/checks/studies/ratios.h"
#include "theory/synthetic_run.h"

using namespace kappascope;
using namespace kappascope::theory;
using Catch::Contains;
using enum Direction;

namespace {

/// Adds a run of each seed: the control's value of the seed, plus `effect`, plus noise.
void add_arm(StudyRuns& study,
             const std::string& arm,
             double effect,
             const std::string& condition = "",
             int seeds = 6,
             double spread = 0.01) {
  std::mt19937_64 noise(study.runs.size() + 7);
  std::normal_distribution<double> normal(0, spread);
  for (int seed = 1; seed <= seeds; ++seed) {
    study::RunEnd run;
    run.arm = arm;
    run.condition = condition;
    run.seed = std::to_string(seed);
    run.state = "finished";
    run.values["loss/test"] = {2 + 0.3 * seed + effect + normal(noise), 99};
    study.runs.push_back(run);
  }
}

StudyRuns two_arms(double effect, int seeds = 6, double spread = 0.01) {
  StudyRuns study{"a-study", {}};
  add_arm(study, "control", 0, "", seeds, spread);
  add_arm(study, "arm", effect, "", seeds, spread);
  return study;
}

const Contrast kLess{"loss/test", "arm", "control", kLower};

}  // namespace

TEST_CASE("a direction: found, contrary, and not to be told, each with its numbers") {
  const auto holds = check_direction(two_arms(-0.5), {{kLess}});
  CHECK(holds.outcome == Outcome::kHoldsUnder);
  CHECK(holds.measured == Approx(-0.5).margin(0.02));
  CHECK(*holds.lower < holds.measured);
  CHECK(holds.cases == 6);
  CHECK(holds.route == "study");
  CHECK_THAT(holds.condition, Contains("6 pairs"));

  const auto contrary = check_direction(two_arms(0.5), {{kLess}});
  CHECK(contrary.outcome == Outcome::kRefuted);
  CHECK_FALSE(contrary.witness.empty());

  const auto open = check_direction(two_arms(0.01, 3, 0.2), {{kLess}});
  CHECK(open.outcome == Outcome::kUndecided);
  CHECK_THAT(
      open.condition,
      Contains("not to be told from these runs (a difference of loss/test") && Contains("3 pairs"));
}

TEST_CASE("the size that a document gives is compared with the interval") {
  const DirectionQuestion as_published{{kLess}, {{-0.52, -0.48}}};
  CHECK_THAT(check_direction(two_arms(-0.5), as_published).condition, Contains("possible"));
  const auto smaller = check_direction(two_arms(-0.2), as_published);
  CHECK(smaller.outcome == Outcome::kHoldsUnder);
  CHECK(smaller.predicted == Approx(-0.5));
  CHECK_THAT(smaller.condition, Contains("not that of these runs"));
  // No difference to be seen: refuted where one of that size would have been, open otherwise.
  const auto absent = check_direction(two_arms(0, 6, 0.02), as_published);
  CHECK(absent.outcome == Outcome::kRefuted);
  CHECK_THAT(absent.condition, Contains("would have been seen"));
  CHECK_FALSE(absent.witness.empty());
  CHECK(check_direction(two_arms(-0.2, 3, 0.4), as_published).outcome == Outcome::kUndecided);
}

TEST_CASE("one contrary condition refutes a direction; one open one leaves it open") {
  auto study = StudyRuns{"a-study", {}};
  for (const auto* condition : {"rate 1", "rate 2"}) add_arm(study, "control", 0, condition);
  add_arm(study, "arm", -0.5, "rate 1");
  auto contrary = study, open = study;
  add_arm(contrary, "arm", 0.5, "rate 2");
  add_arm(open, "arm", 0, "rate 2", 6, 0.3);
  CHECK(check_direction(contrary, {{kLess}}).outcome == Outcome::kRefuted);
  CHECK(check_direction(open, {{kLess}}).outcome == Outcome::kUndecided);
  auto only_first = kLess;
  only_first.condition = "rate 1";
  CHECK(check_direction(contrary, {{only_first}}).outcome == Outcome::kHoldsUnder);
  CHECK(check_some_effect(contrary, {kLess}, 0.01).outcome == Outcome::kHoldsUnder);
}

TEST_CASE("no effect is an interval inside the margin, not one around zero") {
  CHECK(check_no_effect(two_arms(0, 6, 0.005), {kLess}, 0.01).outcome == Outcome::kHoldsUnder);
  CHECK(check_no_effect(two_arms(0, 3, 0.2), {kLess}, 0.01).outcome == Outcome::kUndecided);
  CHECK(check_no_effect(two_arms(0.5), {kLess}, 0.01).outcome == Outcome::kRefuted);
  // Certain, but smaller than matters: no effect as it is defined.
  const auto small = check_no_effect(two_arms(0.01, 6, 0.001), {kLess}, 0.01);
  CHECK(small.outcome == Outcome::kHoldsUnder);
  CHECK(*small.lower > 0);
}

TEST_CASE("some effect: found, absent, or not to be told") {
  CHECK(check_some_effect(two_arms(0.5), {kLess}, 0.01).outcome == Outcome::kHoldsUnder);
  CHECK(check_some_effect(two_arms(0, 6, 0.003), {kLess}, 0.01).outcome == Outcome::kRefuted);
  CHECK(check_some_effect(two_arms(0, 3, 0.2), {kLess}, 0.01).outcome == Outcome::kUndecided);
}

TEST_CASE("twelve conditions without an effect are rarely taken for one") {
  // A level of 5 % over all of them: of 200 studies 10 are expected, 20 or more once in 1e3.
  int found = 0;
  for (int repeat = 0; repeat < 200; ++repeat) {
    StudyRuns study{"a-study", {}};
    std::mt19937_64 noise(repeat + 1);
    std::normal_distribution<double> normal(0, 0.1);
    for (int condition = 0; condition < 12; ++condition) {
      for (const auto* arm : {"control", "arm"}) {
        add_arm(study, arm, 0, "condition " + std::to_string(condition), 5, 0);
      }
    }
    for (auto& run : study.runs) run.values["loss/test"].value += normal(noise);
    found += check_some_effect(study, {kLess}, 0.01).outcome == Outcome::kHoldsUnder ? 1 : 0;
  }
  CHECK(found < 20);
  CHECK(found > 0);
}

TEST_CASE("what a study lacks is named, and a run that diverged is counted") {
  const auto lacking = [](const Contrast& contrast) {
    const auto verdict = check_direction(two_arms(0), {{contrast}});
    CHECK(verdict.outcome == Outcome::kUndecided);
    return verdict.condition;
  };
  CHECK_THAT(lacking({"loss/test", "nobody", "control"}), Contains("no arm 'nobody'"));
  CHECK_THAT(lacking({"accuracy/test", "arm", "control"}), Contains("accuracy/test"));
  auto study = two_arms(-0.5);
  study.runs.back().state = "failed";
  const auto verdict = check_direction(study, {{kLess}});
  CHECK(verdict.cases == 5);
  CHECK_THAT(verdict.condition, Contains("1 pairs left out"));
}

TEST_CASE("a ratio is that of the values, with the interval of its logarithm") {
  auto study = two_arms(0);
  for (auto& run : study.runs) {
    const double factor = run.arm == "arm" ? 1.3 : 1;
    run.values["memory/training"] = {factor * 1e9 * (1 + 0.01 * std::stod(run.seed)), 99};
  }
  const auto verdict = check_ratio(study, {"memory/training", "arm", "control"}, 1.28);
  CHECK(verdict.outcome == Outcome::kMeasured);
  CHECK(verdict.measured == Approx(1.3));
  CHECK(*verdict.lower <= verdict.measured);
  CHECK(verdict.predicted == 1.28);
  CHECK(check_ratio(study, {"memory/none", "arm", "control"}, 1).outcome == Outcome::kUndecided);
}

TEST_CASE("less spread is told only by a ratio that chance does not give") {
  const auto spread = [](double factor, int seeds) {
    StudyRuns study{"a-study", {}};
    add_arm(study, "control", 0, "", seeds, 0);
    add_arm(study, "arm", 0, "", seeds, 0);
    for (auto& run : study.runs) {
      auto& value = run.values["loss/test"].value;
      if (run.arm == "arm") value *= factor;
    }
    return check_less_spread(study, kLess, 0.85);
  };
  CHECK(spread(0.2, 12).outcome == Outcome::kHoldsUnder);
  CHECK(spread(5, 12).outcome == Outcome::kRefuted);
  const auto open = spread(0.92, 5);
  CHECK(open.outcome == Outcome::kUndecided);
  CHECK(open.measured == Approx(0.92 * 0.92));
  // The 95 % interval of F(4, 4) reaches a factor of 9.60 to either side.
  CHECK(*open.upper / open.measured == Approx(9.605).epsilon(1e-3));
}

TEST_CASE("a check of one run, over the runs of an arm") {
  test::SyntheticRun good, bad;
  for (std::int64_t step = 0; step < 3; ++step) {
    good.write_variances(step, "a", {.measured = 1, .published = 2});
    bad.write(step, {});
  }
  StudyRuns study{"a-study", {}};
  add_arm(study, "arm", 0, "", 3);
  for (auto& run : study.runs) run.dir = good.dir();
  study.runs.back().dir = bad.dir();
  const auto find = [](const CheckContext& context) {
    const store::RunReader run(*context.run);
    Verdict verdict;
    if (run.scalars({"gradvar/measured", "a"}).empty()) {
      verdict.condition = "nothing measured";
      return verdict;
    }
    verdict.outcome = Outcome::kMeasured;
    verdict.measured = 2;
    verdict.cases = 3;
    return verdict;
  };
  const auto verdict = check_each_run(study, "arm", EachRun::kNumber, find);
  CHECK(verdict.outcome == Outcome::kMeasured);
  CHECK(verdict.measured == 2);
  CHECK(verdict.cases == 6);
  CHECK_FALSE(verdict.lower);  // every run says the same: nothing tells the error of that
  CHECK_THAT(verdict.condition, Contains("1 runs without it (nothing measured)"));
  // A share that is one in every run is not one for certain.
  const auto always = [](const CheckContext&) {
    Verdict one;
    one.outcome = Outcome::kMeasured;
    one.measured = 1;
    return one;
  };
  const auto share = check_each_run(study, "arm", EachRun::kShare, always);
  CHECK(share.measured == 1);
  CHECK(*share.lower == Approx(3 / (3 + 1.96 * 1.96)).epsilon(1e-3));  // Wilson, three seeds
  CHECK(*share.upper == Approx(1));
  CHECK_THAT(share.condition, Contains("1 [0.438"));
  CHECK(check_each_run(study, "nobody", EachRun::kNumber, find).outcome == Outcome::kUndecided);
}

TEST_CASE("every measured claim says what an empty study lacks, and refuses another's") {
  for (const auto& claim : all_claims()) {
    for (const auto& study : claim.studies) {
      CAPTURE(claim.id, study);
      const auto verdict = measure(claim, {study, {}});
      CHECK(verdict.outcome == Outcome::kUndecided);
      CHECK_FALSE(verdict.condition.empty());
    }
    CHECK_THROWS_AS(measure(claim, {"no such study", {}}), UsageError);
  }
}
