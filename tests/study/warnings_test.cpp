// SPDX-License-Identifier: Apache-2.0
#include "kappascope/study/warnings.h"

#include <cmath>
#include <random>

#include "support/catch.h"

using namespace kappascope::study;

namespace {

const WarningRecord& of(const std::vector<WarningRecord>& records, const std::string& rule) {
  for (const auto& record : records)
    if (record.rule == rule) return record;
  FAIL("no record of " << rule);
  return records.front();
}

/// Trainings of 1,000 steps with a spike of ten steps at 300 + 7 k; `before`: how many steps
/// earlier the rule "early" speaks, the plain one two steps before.
std::vector<WatchedTraining> trainings_of(std::int64_t before, int count = 40) {
  std::vector<WatchedTraining> out;
  std::mt19937_64 generator(3);
  for (int k = 0; k < count; ++k) {
    const std::int64_t spike = 300 + 7 * k;
    WatchedTraining training{.steps = 1000, .spikes = {{spike, spike + 9}}};
    training.alarms["early"] = {spike - before};
    training.alarms["plain"] = {100, spike - 2, spike + 3};
    training.alarms["follows"] = {spike + 5};
    for (int i = 0; i < 20; ++i)
      training.alarms["random"].push_back(static_cast<std::int64_t>(generator() % 1000));
    std::ranges::sort(training.alarms["random"]);
    out.push_back(training);
  }
  return out;
}

}  // namespace

TEST_CASE("a rule that comes first leads; its lead, its errors and chance are counted") {
  const WarningOptions options{.horizon = 50, .plain = {"plain"}};
  const auto records = judge_warnings(trainings_of(20), options);
  const auto& early = of(records, "early");
  CHECK(early.alarms == 40);
  CHECK(early.false_share.value == 0);
  CHECK(early.warned.value == 1);
  CHECK(early.lead == 20);
  // One alarm in 1,000 steps: it lies in the 50 before the spike in 50 of 1,000 shifts.
  CHECK(early.before.value == Approx(1 - 0.05));
  CHECK(early.ahead.value == 1);
  CHECK(early.ahead_of_chance.value == Approx(1 - 0.048));  // in the 48 steps before the plain one
  CHECK(early.ahead_of_chance.lower > 0.9);
  CHECK(leads(early, records, options.plain));
  CHECK(early.ahead_at_least <= early.ahead_of_chance.lower);
  // Of many rules one may seem to lead: what counts is the interval of all together.
  auto by_luck = early;
  by_luck.ahead_at_least = 0;
  CHECK_FALSE(leads(by_luck, records, options.plain));
  // Of the plain rule, 100 is false, that before the spike right, and that within it counts
  // nowhere.
  const auto& plain = of(records, "plain");
  CHECK(plain.alarms == 80);
  CHECK(plain.false_share.value == 0.5);
  CHECK(plain.warned.value == 1);
  CHECK(plain.lead == 2);
}

TEST_CASE("a rule that comes later than the plain one, or after the spike, does not lead") {
  const WarningOptions options{.horizon = 50, .plain = {"plain"}};
  const auto records = judge_warnings(trainings_of(1), options);
  const auto& late = of(records, "early");
  CHECK(late.warned.value == 1);
  CHECK(late.before.lower > 0);
  CHECK(late.ahead.value == 0);
  CHECK_FALSE(leads(late, records, options.plain));
  const auto& follows = of(records, "follows");
  CHECK(follows.warned.value == 0);
  CHECK(std::isnan(follows.false_share.value));  // its alarms lie within spikes
  CHECK(follows.after.lower > 0.9);
  CHECK_FALSE(leads(follows, records, options.plain));
}

TEST_CASE("a plain rule that spoke long before the horizon does not take the lead away") {
  const WarningOptions options{.horizon = 50, .plain = {"plain"}};
  auto trainings = trainings_of(20);
  for (auto& training : trainings) training.alarms["plain"] = {100};
  const auto records = judge_warnings(trainings, options);
  CHECK(of(records, "plain").warned.value == 0);
  CHECK(of(records, "early").ahead.value == 1);
}

TEST_CASE("alarms at random have no lead: chance takes it away") {
  // 400 spikes, at a fixed seed: each interval holds zero but for a false alarm of 5 %.
  const WarningOptions options{.horizon = 50, .plain = {"plain"}, .resamples = 400};
  const auto records = judge_warnings(trainings_of(20, 90), options);
  const auto& random = of(records, "random");
  CHECK(random.warned.value > 0.5);  // often before a spike, as it speaks often
  for (const auto& number : {random.before, random.after, random.ahead_of_chance}) {
    CHECK(number.lower < 0);
    CHECK(number.upper > 0);
  }
  CHECK_FALSE(leads(random, records, options.plain));
}

TEST_CASE("four trainings with a spike give numbers without an interval, and no lead") {
  const auto records = judge_warnings(trainings_of(20, 4), {.horizon = 50, .plain = {"plain"}});
  CHECK(of(records, "early").ahead.value == 1);
  CHECK(std::isnan(of(records, "early").ahead_of_chance.lower));
  CHECK_FALSE(leads(of(records, "early"), records, {"plain"}));
  CHECK(of(judge_warnings(trainings_of(20, 5), {.horizon = 50}), "early").ahead_of_chance.lower >
        0);
}

TEST_CASE("without spikes, or without alarms, there is nothing to count") {
  WatchedTraining calm{.steps = 100, .spikes = {}};
  calm.alarms["a"] = {5};
  calm.alarms["b"] = {};
  const auto records = judge_warnings({calm, calm}, {.horizon = 50});
  CHECK(of(records, "a").false_share.value == 1);
  CHECK(std::isnan(of(records, "a").warned.value));
  CHECK(std::isnan(of(records, "b").false_share.value));
  CHECK_FALSE(leads(of(records, "b"), records, {}));
}
