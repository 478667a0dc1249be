// SPDX-License-Identifier: Apache-2.0
// Verdicts of studies on runs that say just what a test wants them to say.
#include <fmt/format.h>

#include <cmath>
#include <random>

#include "kappascope/core/error.h"
#include "lab/theory/checks/added_runs.h"
#include "lab/theory/synthetic_run.h"
#include "support/catch.h"
#include "theory/checks/studies/contrasts.h"
#include "theory/checks/studies/ratios.h"

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
  add_runs(study, arm, condition, "loss/test", seeds, [&](int seed) {
    return 2 + 0.3 * seed + effect + normal(noise);
  });
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
  CHECK(open.outcome == Outcome::kTooFewRuns);
  CHECK_THAT(open.condition,
             Contains("of loss/test a difference of") && Contains("at a corrected level of 0.05") &&
                 Contains("3 pairs"));
  // Each says the p on which it rests, or which was too large.
  CHECK(*holds.p < 1e-4);
  CHECK(*contrary.p < 1e-4);
  CHECK(*open.p > 0.05);
}

TEST_CASE("the size that a document gives is compared with the interval") {
  const DirectionQuestion as_published{{kLess}, {{-0.52, -0.48}}};
  CHECK_THAT(check_direction(two_arms(-0.5), as_published).condition, Contains("possible"));
  const auto smaller = check_direction(two_arms(-0.2), as_published);
  CHECK(smaller.outcome == Outcome::kHoldsUnder);
  CHECK(smaller.predicted == -0.48);  // of the document's sizes the nearest
  CHECK_THAT(smaller.condition, Contains("not that of these runs"));
  // No difference to be seen: refuted where one of that size would have been, open otherwise.
  const auto absent = check_direction(two_arms(0, 6, 0.02), as_published);
  CHECK(absent.outcome == Outcome::kRefuted);
  CHECK_THAT(absent.condition, Contains("would have been seen"));
  CHECK_FALSE(absent.witness.empty());
  CHECK(*absent.p < 0.05);
  CHECK(check_direction(two_arms(-0.2, 3, 0.4), as_published).outcome == Outcome::kTooFewRuns);
}

TEST_CASE("one contrary condition refutes a direction; one open one leaves it open") {
  auto study = StudyRuns{"a-study", {}};
  for (const auto* condition : {"rate 1", "rate 2"}) add_arm(study, "control", 0, condition);
  add_arm(study, "arm", -0.5, "rate 1");
  auto contrary = study, open = study;
  add_arm(contrary, "arm", 0.5, "rate 2");
  add_arm(open, "arm", 0, "rate 2", 6, 0.3);
  CHECK(check_direction(contrary, {{kLess}}).outcome == Outcome::kRefuted);
  CHECK(check_direction(open, {{kLess}}).outcome == Outcome::kTooFewRuns);
  auto only_first = kLess;
  only_first.condition = "rate 1";
  CHECK(check_direction(contrary, {{only_first}}).outcome == Outcome::kHoldsUnder);
}

TEST_CASE("a condition under which nothing was trained anew is no further test") {
  auto study = two_arms(-0.03);
  auto alone = check_direction(study, {{kLess}});
  for (auto run : std::vector(study.runs)) {
    run.condition = "units pixels";
    study.runs.push_back(run);
  }
  const auto twice = check_direction(study, {{kLess}});
  CHECK(*twice.p == *alone.p);
  CHECK(twice.condition == alone.condition);
  study.runs.back().values["loss/test"].value += 1e-9;
  CHECK(*check_direction(study, {{kLess}}).p > *alone.p);
}

TEST_CASE("no effect is an interval inside the margin, not one around zero") {
  const auto no_effect = [](const StudyRuns& study, bool seen_refutes = false) {
    return check_no_effect(
        study, {.claimed = {kLess}, .margin = {.share = 0.01}, .seen_refutes = seen_refutes});
  };
  const auto none = no_effect(two_arms(0, 6, 0.005));
  CHECK(none.outcome == Outcome::kHoldsUnder);
  CHECK(*none.p < 0.05);
  const auto open = no_effect(two_arms(0, 3, 0.2));
  CHECK(open.outcome == Outcome::kTooFewRuns);
  CHECK_THAT(open.condition, Contains("not all shown to lie within 1 % of the control"));
  CHECK(no_effect(two_arms(0.5)).outcome == Outcome::kRefuted);
  // Certain, but smaller than matters: no effect as it is defined.
  const auto small = no_effect(two_arms(0.01, 6, 0.001));
  CHECK(small.outcome == Outcome::kHoldsUnder);
  CHECK(*small.lower > 0);
  // Seen, and perhaps larger than the margin of 0.029 to 0.035: "no significant difference" is
  // refuted by it, "useless" is not.
  const auto between = two_arms(0.034, 6, 0.008);
  CHECK(no_effect(between, true).outcome == Outcome::kRefuted);
  CHECK_THAT(no_effect(between, true).condition, Catch::StartsWith("refuted by "));
  CHECK(no_effect(between).outcome == Outcome::kTooFewRuns);
  // The larger of two margins counts, and both are named.
  const auto wide = check_no_effect(
      two_arms(0.1, 6, 0.005), {.claimed = {kLess}, .margin = {.absolute = 0.2, .share = 0.01}});
  CHECK(wide.outcome == Outcome::kHoldsUnder);
  CHECK_THAT(wide.right, Contains("0.2 or 1 % of the control"));
  // An absolute margin does not ask what the control has.
  CHECK(check_no_effect(two_arms(0.1, 6, 0.005), {.claimed = {kLess}, .margin = {.absolute = 0.2}})
            .outcome == Outcome::kHoldsUnder);
}

TEST_CASE("one contrast of several that is not shown to be small leaves no effect open") {
  auto study = two_arms(0, 6, 0.002);
  add_arm(study, "other", 0, "", 6, 0.1);
  const Contrast other{"loss/test", "other", "control"};
  const NoEffectQuestion both{.claimed = {kLess, other}, .margin = {.share = 0.01}};
  const auto open = check_no_effect(study, both);
  CHECK(open.outcome == Outcome::kTooFewRuns);
  CHECK_THAT(open.left, Contains("of other minus control"));
  CHECK(check_no_effect(study, {.claimed = {kLess}, .margin = {.share = 0.01}}).outcome ==
        Outcome::kHoldsUnder);
}

namespace {

/// A grid of dropout and noise; the arm differs by effect + slope times dropout.
StudyRuns grid_study(double effect, double slope, int seeds = 6, double spread = 0.005) {
  StudyRuns study{"a-study", {}};
  for (const double dropout : {0.0, 0.1, 0.3}) {
    for (const double noise : {0.0, 1.0}) {
      const auto condition = fmt::format("dropout {}, latent-noise {}", dropout, noise);
      add_arm(study, "control", 0, condition, seeds, spread);
      add_arm(study, "arm", effect + slope * dropout, condition, seeds, spread);
    }
  }
  return study;
}

Verdict pooled(const StudyRuns& study) {
  return check_pooled(
      study,
      {.contrast = kLess, .settings = {"dropout", "latent-noise"}, .margin = {.share = 0.01}});
}

}  // namespace

TEST_CASE("a grid is pooled over its conditions, and asked whether the effect grows along it") {
  const auto mean = pooled(grid_study(-0.5, 0));
  CHECK(mean.outcome == Outcome::kHoldsUnder);
  CHECK(mean.measured == Approx(-0.5).margin(0.01));
  CHECK_THAT(mean.left, Contains("all conditions pooled"));
  // No effect without dropout and a mean of zero, but a slope: seen by its own test alone.
  const auto slope = pooled(grid_study(0.4, -3));
  CHECK(slope.outcome == Outcome::kHoldsUnder);
  CHECK(slope.measured == Approx(-3).epsilon(0.02));
  CHECK_THAT(slope.left, Contains("slope") && Contains("on dropout"));
  CHECK(pooled(grid_study(0.5, 0)).outcome == Outcome::kRefuted);
  const auto absent = pooled(grid_study(0, 0));
  CHECK(absent.outcome == Outcome::kRefuted);
  CHECK_THAT(absent.witness, Contains("within 1 % of the control"));
  CHECK(pooled(grid_study(0, 0, 3, 0.3)).outcome == Outcome::kTooFewRuns);
}

TEST_CASE("a pooled verdict has other arms beside it, and they do not change it") {
  auto study = grid_study(-0.5, 0);
  auto other = grid_study(0, 0);
  for (auto& run : other.runs) {
    if (run.arm == "control") continue;
    run.arm = "output bias";
    study.runs.push_back(run);
  }
  const auto verdict = check_pooled(
      study,
      {.contrast = kLess,
       .settings = {"dropout", "latent-noise"},
       .margin = {.share = 0.01},
       .beside = {{"loss/test", "output bias", "control"}, {"loss/test", "nobody", "control"}}});
  CHECK(verdict.outcome == Outcome::kHoldsUnder);
  CHECK(verdict.measured == Approx(-0.5).margin(0.01));
  CHECK_THAT(verdict.condition,
             Contains("beside it: loss/test (all conditions pooled) of output bias against") &&
                 !Contains("nobody"));
}

TEST_CASE("a seed that lacks a condition is left out of a pooled test, and one seed is too few") {
  auto study = grid_study(-0.5, 0);
  study.runs.back().state = "failed";
  CHECK(pooled(study).cases == 5 * 3);  // three tests
  CHECK_THAT(pooled(grid_study(-0.5, 0, 1)).condition, Contains("fewer than two seeds"));
  CHECK_THAT(pooled(two_arms(-0.5)).condition, Contains("a condition without dropout"));
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
    // One in the other direction refutes, and one in this one is half of that.
    auto other = kLess;
    other.expected = kHigher;
    const bool lower = check_direction(study, {{kLess}}).outcome == Outcome::kRefuted,
               higher = check_direction(study, {{other}}).outcome == Outcome::kRefuted;
    found += lower || higher ? 1 : 0;
  }
  CHECK(found < 20);
  CHECK(found > 0);
}

TEST_CASE("a claim is judged with all tests of its study") {
  const auto study = two_arms(-0.025, 6, 0.01);
  const auto alone = check_direction(study, {{kLess}});
  REQUIRE(*alone.p < 0.05);
  study::Family family;
  for (int i = 0; i < 40; ++i) family.add("another test " + std::to_string(i), 0.5);
  auto among = study;
  among.family = &family;
  const auto judged = check_direction(among, {{kLess}});
  CHECK(judged.outcome == Outcome::kTooFewRuns);
  CHECK(*judged.p == Approx(41 * *alone.p));
  CHECK(family.size() == 41);
}

TEST_CASE("a control outside the document's regime decides nothing, and inside it does") {
  Claim claim;
  claim.id = "P-X";
  claim.studies = {"a-study"};
  claim.measure = [](const StudyRuns& study) { return check_direction(study, {{kLess}}); };
  auto study = StudyRuns{"a-study", {}};
  for (const auto* condition : {"rate 1", "rate 2"}) add_arm(study, "control", 0, condition);
  add_arm(study, "arm", -0.5, "rate 1");
  add_arm(study, "arm", 0.5, "rate 2");  // contrary, where the document does not speak
  for (auto& run : study.runs)
    run.values["accuracy/test"] = {run.condition == "rate 1" ? 0.14 : 0.9, 99};
  CHECK(measure(claim, study).outcome == Outcome::kRefuted);
  study.regimes = {study::parse_regime("accuracy/test of control between 0.1 and 0.2", "here")};
  const auto inside = measure(claim, study);
  CHECK(inside.outcome == Outcome::kHoldsUnder);
  CHECK_THAT(inside.condition,
             Contains("regime: accuracy/test of control between 0.1 and 0.2") &&
                 Contains("median 0.9 under rate 2"));
  study.regimes = {study::parse_regime("accuracy/test of control at most 0.1", "here")};
  const auto outside = measure(claim, study);
  CHECK(outside.outcome == Outcome::kNoRegime);
  CHECK_FALSE(outside.p);
  CHECK(outside.left.empty());
  CHECK_THAT(outside.condition, Contains("median 0.14 under rate 1"));
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
  CHECK_THAT(check_ratio(study,
                         {"memory/training", "arm", "control"},
                         1.28,
                         {{"memory/training", "control", "arm"}})
                 .condition,
             Contains("beside it: control over arm 0.769"));
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
  CHECK(open.outcome == Outcome::kTooFewRuns);
  CHECK(*open.p > 0.05);
  // 1 over the upper 2.5 % point of F(4, 4).
  CHECK_THAT(open.condition, Contains("a ratio of 0.1 or less would have been seen"));
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
