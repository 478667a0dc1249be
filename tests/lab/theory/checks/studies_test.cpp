// SPDX-License-Identifier: Apache-2.0
// Verdicts of studies on runs that say just what a test wants them to say.
#include <fmt/format.h>

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

/// A grid of dropout and noise; the arm differs by effect + slope times dropout.
StudyRuns grid_study(double effect, double slope, int seeds = 6, double spread = 0.005) {
  StudyRuns study{"a-study", {}};
  for (const double dropout : {0.0, 0.1, 0.3}) {
    for (const double noise : {0.0, 1.0}) {
      const auto condition = fmt::format("dropout {}, latent-noise {}", dropout, noise);
      add_shifted(study, "control", 0, condition, seeds, spread);
      add_shifted(study, "arm", effect + slope * dropout, condition, seeds, spread);
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
  CHECK_THAT(absent.witness, Contains("all fall short of 1 % of the control"));
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

TEST_CASE("a grid that lacks a run decides nothing, nor does one seed or another grid") {
  auto study = grid_study(-0.5, 0);
  study.runs.back().state = "failed";
  const auto lacking = pooled(study);
  CHECK(lacking.outcome == Outcome::kUndecided);
  CHECK_THAT(lacking.condition, Contains("seed 6 lacks loss/test of 'arm' or 'control'"));
  CHECK_THAT(pooled(grid_study(-0.5, 0, 1)).condition, Contains("fewer than two seeds"));
  CHECK_THAT(pooled(two_arms(-0.5)).condition, Contains("a condition without dropout"));
}

TEST_CASE("of several ways to hold one that is contrary refutes nothing, nor holds another") {
  // Lower everywhere, and less so with more dropout: as stated.
  CHECK(pooled(grid_study(-0.5, 0.5)).outcome == Outcome::kHoldsUnder);
  // Higher everywhere, and less so with more dropout: a contrary mean, which no slope makes good.
  CHECK(pooled(grid_study(0.9, -1)).outcome == Outcome::kTooFewRuns);
  // No pooled difference, and a slope that the noise hides: not refuted by the mean alone.
  auto hidden = grid_study(0.02, -0.15, 6, 0.002);
  int sign = 1;
  for (auto& run : hidden.runs) {
    if (run.arm != "arm") continue;
    if (run.condition.starts_with("dropout 0.3")) run.values["loss/test"].value += 0.08 * sign;
    if (run.condition.starts_with("dropout 0,")) run.values["loss/test"].value -= 0.08 * sign;
    sign = -sign;
  }
  CHECK(pooled(hidden).outcome == Outcome::kTooFewRuns);
}

TEST_CASE("a control outside the document's regime decides nothing, and inside it does") {
  Claim claim;
  claim.id = "P-X";
  claim.studies = {"a-study"};
  claim.measure = [](const StudyRuns& study) { return direction(study); };
  auto study = StudyRuns{"a-study", {}};
  for (const auto* condition : {"rate 1", "rate 2"}) add_shifted(study, "control", 0, condition);
  add_shifted(study, "arm", -0.5, "rate 1");
  add_shifted(study, "arm", 0.5, "rate 2");  // contrary, where the document does not speak
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
    const auto verdict = direction(two_arms(0), {contrast});
    CHECK(verdict.outcome == Outcome::kUndecided);
    return verdict.condition;
  };
  CHECK_THAT(lacking({"loss/test", "nobody", "control"}), Contains("no arm 'nobody'"));
  CHECK_THAT(lacking({"accuracy/test", "arm", "control"}), Contains("accuracy/test"));
  auto study = two_arms(-0.5);
  study.runs.back().state = "failed";
  const auto verdict = direction(study);
  CHECK(verdict.cases == 5);
  CHECK(verdict.outcome == Outcome::kUndecided);
  CHECK_FALSE(verdict.p);
  CHECK_THAT(verdict.condition, Contains("1 of 6 pairs are left out"));
  CHECK(check_no_effect(study, {.claimed = {kLess}, .margin = {.absolute = 9}}).outcome ==
        Outcome::kUndecided);
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
    add_shifted(study, "control", 0, "", seeds, 0);
    add_shifted(study, "arm", 0, "", seeds, 0);
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
  CHECK_THAT(
      open.condition,
      Contains("a ratio of 0.1 or less would have been seen, and about 1190 runs an arm find"));
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
  add_shifted(study, "arm", 0, "", 3);
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
    one.cases = 5;
    return one;
  };
  const auto share = check_each_run(study, "arm", EachRun::kShare, always);
  CHECK(share.measured == 1);
  CHECK(*share.lower == Approx(3 / (3 + 1.96 * 1.96)).epsilon(1e-3));  // Wilson, three seeds
  CHECK(*share.upper == Approx(1));
  CHECK_THAT(share.condition, Contains("1 [0.438"));
  // The cases of a seed are one observation: 100 in each of them know no more than 5.
  const auto shares = [&](std::int64_t cases) {
    int run = 0;
    return check_each_run(study, "arm", EachRun::kShare, [&](const CheckContext&) {
      Verdict one;
      one.outcome = Outcome::kMeasured;
      one.measured = run++ == 0 ? 0.4 : 0.8;
      one.cases = cases;
      return one;
    });
  };
  CHECK(shares(5).measured == Approx(2.0 / 3));
  CHECK(*shares(5).upper - *shares(5).lower > 0.5);
  CHECK(*shares(100).lower == Approx(*shares(5).lower));
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
