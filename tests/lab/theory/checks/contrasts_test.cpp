// SPDX-License-Identifier: Apache-2.0
// Differences between arms, on runs that say just what a test wants them to say.
#include "theory/checks/studies/contrasts.h"

#include <cmath>
#include <random>

#include "kappascope/core/statistics.h"
#include "lab/theory/checks/added_runs.h"
#include "support/catch.h"
#include "theory/checks/studies/interaction.h"

using namespace kappascope;
using namespace kappascope::theory;
using Catch::Contains;
using enum Direction;

TEST_CASE("a direction: found, contrary, and not to be told, each with its numbers") {
  const auto holds = direction(two_arms(-0.5));
  CHECK(holds.outcome == Outcome::kHoldsUnder);
  CHECK(holds.measured == Approx(-0.5).margin(0.02));
  CHECK(*holds.lower < holds.measured);
  CHECK(holds.cases == 6);
  CHECK(holds.route == "study");
  CHECK_THAT(holds.condition, Contains("6 pairs"));

  const auto contrary = direction(two_arms(0.5));
  CHECK(contrary.outcome == Outcome::kRefuted);
  CHECK_FALSE(contrary.witness.empty());

  const auto open = direction(two_arms(0.01, 3, 0.2));
  CHECK(open.outcome == Outcome::kTooFewRuns);
  CHECK_THAT(open.condition,
             Contains("pairs find a difference of 0.1 in four studies of five, and here are 3: "));
  // Each says the p on which it rests, or which was too large.
  CHECK(*holds.p < 1e-4);
  CHECK(*contrary.p < 1e-4);
  CHECK(*open.p > 0.05);
}

TEST_CASE("the size that a document gives is compared with the interval") {
  const DirectionQuestion as_published{
      .claimed = {kLess}, .matters = {.absolute = 0.01}, .size = {{-0.52, -0.48}}};
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
  for (const auto* condition : {"rate 1", "rate 2"}) add_shifted(study, "control", 0, condition);
  add_shifted(study, "arm", -0.5, "rate 1");
  auto contrary = study, open = study;
  add_shifted(contrary, "arm", 0.5, "rate 2");
  add_shifted(open, "arm", 0, "rate 2", 6, 0.3);
  CHECK(direction(contrary).outcome == Outcome::kRefuted);
  CHECK(direction(open).outcome == Outcome::kTooFewRuns);
  auto only_first = kLess;
  only_first.condition = "rate 1";
  CHECK(direction(contrary, {only_first}).outcome == Outcome::kHoldsUnder);
}

TEST_CASE("a condition under which nothing was trained anew is no further test") {
  auto study = two_arms(-0.03);
  auto alone = direction(study);
  for (auto run : std::vector(study.runs)) {
    run.condition = "units pixels";
    study.runs.push_back(run);
  }
  const auto twice = direction(study);
  CHECK(*twice.p == *alone.p);
  CHECK(twice.condition == alone.condition);
  CHECK(twice.cases == alone.cases);
  study.runs.back().values["loss/test"].value += 1e-9;
  CHECK(direction(study).cases == 2 * alone.cases);
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
  add_shifted(study, "other", 0, "", 6, 0.1);
  const Contrast other{"loss/test", "other", "control"};
  const NoEffectQuestion both{.claimed = {kLess, other}, .margin = {.share = 0.01}};
  const auto open = check_no_effect(study, both);
  CHECK(open.outcome == Outcome::kTooFewRuns);
  CHECK_THAT(open.left, Contains("of other minus control"));
  CHECK(check_no_effect(study, {.claimed = {kLess}, .margin = {.share = 0.01}}).outcome ==
        Outcome::kHoldsUnder);
}

TEST_CASE("twelve conditions without an effect are rarely taken for one") {
  // 5 % over all of them: of 200 studies 10 are expected, 20 or more once in 1e3. Without a
  // smallest difference of interest, of which none of these would be.
  int found = 0;
  for (int repeat = 0; repeat < 200; ++repeat) {
    StudyRuns study{"a-study", {}};
    std::mt19937_64 noise(repeat + 1);
    std::normal_distribution<double> normal(0, 0.1);
    for (int condition = 0; condition < 12; ++condition) {
      for (const auto* arm : {"control", "arm"}) {
        add_shifted(study, arm, 0, "condition " + std::to_string(condition), 5, 0);
      }
    }
    for (auto& run : study.runs) run.values["loss/test"].value += normal(noise);
    // One in the other direction refutes, and one in this one is half of that.
    auto other = kLess;
    other.expected = kHigher;
    const bool lower = check_direction(study, {.claimed = {kLess}, .matters = {}}).outcome ==
                       Outcome::kRefuted,
               higher = check_direction(study, {.claimed = {other}, .matters = {}}).outcome ==
                        Outcome::kRefuted;
    found += lower || higher ? 1 : 0;
  }
  CHECK(found < 20);
  CHECK(found > 0);
}

TEST_CASE("a difference too small to matter is decided, not left open") {
  // Not seen, and one of 0.1 would have been.
  const auto absent = direction(two_arms(0, 6, 0.02));
  CHECK(absent.outcome == Outcome::kRefuted);
  CHECK_THAT(absent.condition, Catch::StartsWith("a difference of 0.1 would have been seen; "));
  CHECK(*absent.p < 0.05);
  // Seen in the stated direction: it holds, and says that it is small.
  const auto small = direction(two_arms(-0.05, 6, 0.005));
  CHECK(small.outcome == Outcome::kHoldsUnder);
  CHECK_THAT(small.condition, Catch::StartsWith("by less than 0.1"));
  CHECK_THAT(direction(two_arms(-0.5)).condition, !Contains("not to matter"));
}

TEST_CASE("one of several contrasts that falls short refutes, at its share of the level") {
  auto study = two_arms(-0.5);
  add_shifted(study, "other", 0, "", 6, 0.02);
  const Contrast other{"loss/test", "other", "control", kLower};
  const auto alone = direction(study, {other}), both = direction(study, {kLess, other});
  CHECK(both.outcome == Outcome::kRefuted);
  CHECK_THAT(both.left, Contains("of other minus control"));
  CHECK(*both.p == Approx(2 * *alone.p));
}

TEST_CASE("a contrast that is seen asks for no further pairs") {
  auto study = two_arms(-0.9, 6, 0.2);
  add_shifted(study, "other", 0, "", 6, 0.1);
  const Contrast other{"loss/test", "other", "control", kLower};
  const auto asked = [&](const std::vector<Contrast>& claimed) {
    return std::stoi(direction(study, claimed).condition);
  };
  REQUIRE(direction(study).outcome == Outcome::kHoldsUnder);
  CHECK(asked({kLess, other}) == asked({other}));
}

TEST_CASE("the pairs that an open question asks for find the difference in four of five studies") {
  const auto open = direction(two_arms(0, 4, 0.2));
  REQUIRE(open.outcome == Outcome::kTooFewRuns);
  const int pairs = std::stoi(open.condition);
  REQUIRE(pairs > 4);
  int found = 0;
  constexpr int kRepeats = 300;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    StudyRuns study{"a-study", {}};
    std::mt19937_64 noise(repeat + 1);
    // The spread that the open study had, not the one that it was drawn with.
    const auto compared = (*open.upper - *open.lower) / (2 * student_quantile(0.975, 3)) * 2;
    std::normal_distribution<double> normal(0, compared);
    for (int seed = 1; seed <= pairs; ++seed) {
      add_runs(study, "control", "", "loss/test", 1, [](int) { return 2.0; });
      study.runs.back().seed = std::to_string(seed);
      add_runs(study, "arm", "", "loss/test", 1, [&](int) { return 1.9 + normal(noise); });
      study.runs.back().seed = std::to_string(seed);
    }
    found += direction(study).outcome == Outcome::kHoldsUnder ? 1 : 0;
  }
  // 240 expected, 7 their standard deviation.
  CHECK(found > 210);
  CHECK(found < 270);
}

TEST_CASE("a ratio is told as a factor, and its margin is one") {
  StudyRuns study{"a-study", {}};
  for (const auto* arm : {"control", "arm"}) {
    add_runs(study, arm, "", "loss/test", 6, [&](int seed) {
      const double factor = arm[0] == 'a' ? 0.7 * (1 + 0.01 * (seed % 3)) : 1;
      return std::pow(10, seed) * factor;
    });
  }
  auto ratio = kLess;
  ratio.ratio = true;
  const DirectionQuestion question{.claimed = {ratio}, .matters = {.share = 0.05}};
  const auto verdict = check_direction(study, question);
  CHECK(verdict.outcome == Outcome::kHoldsUnder);
  CHECK(verdict.measured == Approx(0.707).margin(0.001));
  CHECK(*verdict.upper < 0.75);
  CHECK(verdict.predicted == 1);
  CHECK_THAT(verdict.left, Contains("of arm over control"));
  CHECK_THAT(verdict.condition, Contains("arm over control 0.70"));
  // Not seen in the differences themselves, whose spread is that of the largest.
  CHECK(check_direction(study, {.claimed = {kLess}, .matters = {.share = 0.05}}).outcome ==
        Outcome::kTooFewRuns);
  // A document's size is a factor, too.
  auto half = question;
  half.size = {{0.5, 0.5}};
  CHECK_THAT(check_direction(study, half).condition,
             Contains("the document gives, 0.5, is not that of these runs"));
  // Within 5 % of 0.7 is not within 5 % of 1.
  CHECK(check_no_effect(study, {.claimed = {ratio}, .margin = {.share = 0.05}}).outcome ==
        Outcome::kRefuted);
  CHECK(check_no_effect(study, {.claimed = {ratio}, .margin = {.share = 0.5}}).outcome ==
        Outcome::kHoldsUnder);
}

TEST_CASE("differences that are the same in every pair decide nothing") {
  StudyRuns study{"a-study", {}};
  add_runs(study, "control", "", "loss/test", 2, [](int) { return 0.1; });
  add_runs(study, "arm", "", "loss/test", 2, [](int) { return 0.1; });
  const auto short_of = direction(study);
  CHECK(short_of.outcome == Outcome::kTooFewRuns);
  CHECK(*short_of.p == 1);
  CHECK(check_no_effect(study, {.claimed = {kLess}, .margin = {.absolute = 1}}).outcome ==
        Outcome::kTooFewRuns);
}

TEST_CASE("what is said to add nothing may take something away") {
  const auto study = two_arms(-0.5);
  auto more = kLess;
  more.expected = kHigher;
  const auto decided = [&](bool one_sided) {
    return check_no_effect(study,
                           {.claimed = {more}, .margin = {.absolute = 0.1}, .one_sided = one_sided})
        .outcome;
  };
  CHECK(decided(false) == Outcome::kRefuted);
  CHECK(decided(true) == Outcome::kHoldsUnder);
  CHECK(check_no_effect(two_arms(0.5),
                        {.claimed = {more}, .margin = {.absolute = 0.1}, .one_sided = true})
            .outcome == Outcome::kRefuted);
}

TEST_CASE("a contrast has a margin of its own, and a refuted one the number it is held against") {
  auto study = two_arms(-0.5);
  add_shifted(study, "other", 0, "", 6, 0.02);
  Contrast other{"loss/test", "other", "control", kLower};
  const DirectionQuestion question{
      .claimed = {kLess, other}, .matters = {.absolute = 0.1}, .size = {{-0.6, -0.4}}};
  const auto refuted = check_direction(study, question);
  REQUIRE(refuted.outcome == Outcome::kRefuted);
  CHECK(refuted.predicted == -0.1);
  CHECK_THAT(refuted.right, Contains("smallest difference of interest"));
  auto own = question;
  own.claimed[1].matters = Margin{.absolute = 0.001};
  CHECK(check_direction(study, own).outcome == Outcome::kTooFewRuns);
  auto wrong = question;
  wrong.size = {{0.4, 0.6}};
  CHECK_THROWS_WITH(check_direction(study, wrong), Contains("not those of the direction"));
}

TEST_CASE("events that no run had are no evidence of their absence") {
  const auto decided = [](double effect, double control) {
    StudyRuns study{"a-study", {}};
    add_runs(study, "control", "", "loss/test", 6, [&](int seed) { return control * seed; });
    add_runs(study, "arm", "", "loss/test", 6, [&](int seed) { return (control + effect) * seed; });
    return check_no_effect(
        study, {.claimed = {kLess}, .margin = {.absolute = 0.1}, .counts_events = true});
  };
  const auto none = decided(0, 0);
  CHECK(none.outcome == Outcome::kMeasured);
  CHECK_FALSE(none.p);
  CHECK_THAT(none.condition, Contains("without a single event"));
  CHECK(decided(0.001, 0.01).outcome == Outcome::kHoldsUnder);
}

TEST_CASE("an interaction is the difference of two effects") {
  const InteractionQuestion question{.metric = "loss/test",
                                     .both = "both",
                                     .first = "first",
                                     .second = "second",
                                     .neither = "neither",
                                     .first_name = "a",
                                     .second_name = "b",
                                     .matters = {.absolute = 0.1}};
  const auto decided = [&](double interaction, double spread = 0.01) {
    StudyRuns study{"a-study", {}};
    add_shifted(study, "neither", 0, "", 6, spread);
    add_shifted(study, "first", 0.3, "", 6, spread);
    add_shifted(study, "second", -0.2, "", 6, spread);
    add_shifted(study, "both", 0.1 + interaction, "", 6, spread);
    return check_interaction(study, question);
  };
  const auto worse = decided(0.4);
  CHECK(worse.outcome == Outcome::kHoldsUnder);
  CHECK(worse.measured == Approx(0.4).margin(0.03));
  CHECK_THAT(worse.left, Contains("a with b minus a alone"));
  CHECK(decided(-0.4).outcome == Outcome::kRefuted);
  CHECK(decided(0).outcome == Outcome::kRefuted);  // 0.1 would have been seen
  CHECK(decided(0, 0.3).outcome == Outcome::kTooFewRuns);
  const auto lacking = check_interaction(two_arms(0), question);
  CHECK(lacking.outcome == Outcome::kUndecided);
  CHECK_THAT(lacking.condition, Contains("has no seed with all of 'both'"));
}
