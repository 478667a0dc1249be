// SPDX-License-Identifier: Apache-2.0
#include "lab/study/regime.h"

#include "kappascope/core/error.h"
#include "support/catch.h"

using namespace kappascope;
using namespace kappascope::study;
using Catch::Contains;

namespace {

RunEnd end_of(const std::string& arm, const std::string& condition, int seed, double accuracy) {
  RunEnd end;
  end.arm = arm;
  end.condition = condition;
  end.seed = std::to_string(seed);
  end.state = "finished";
  end.values["accuracy/pgd"] = {accuracy, 9};
  return end;
}

/// The control at 14 % under rate 1 and at 0.2 % under rate 2, the arm at 50 % under both.
std::vector<RunEnd> two_conditions() {
  std::vector<RunEnd> runs;
  for (int seed = 1; seed <= 3; ++seed) {
    for (const auto* condition : {"rate 1", "rate 2"}) {
      const bool first = std::string(condition) == "rate 1";
      runs.push_back(end_of("no bias", condition, seed, (first ? 0.14 : 0.002) + 0.001 * seed));
      runs.push_back(end_of("PGB", condition, seed, 0.5));
    }
  }
  return runs;
}

}  // namespace

TEST_CASE("a regime is read from words and written as it was read") {
  for (const auto* text : {"accuracy/pgd of no bias between 0.1 and 0.2",
                           "spikes/count of no bias between 10 and 25",
                           "spikes/count of no bias at least 3",
                           "loss/test of a control of two at most 1.5"}) {
    CHECK(to_string(parse_regime(text, "here")) == text);
  }
  const auto regime = parse_regime("accuracy/pgd of no bias between 0.1 and 0.2", "here");
  CHECK(regime.metric == "accuracy/pgd");
  CHECK(regime.arm == "no bias");
  CHECK(regime.lower == 0.1);
  CHECK(regime.upper == 0.2);
  for (const auto* text : {"",
                           "accuracy/pgd",
                           "accuracy/pgd of no bias",
                           " of no bias at least 3",
                           "accuracy/pgd of at least 3",
                           "accuracy/pgd of no bias between 0.1",
                           "accuracy/pgd of no bias between 0.2 and 0.1",
                           "accuracy/pgd of no bias at least much",
                           "accuracy/pgd of no bias at most 1e999"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH(parse_regime(text, "here"), Contains("here: a regime is"));
    CHECK_THROWS_AS(parse_regime(text, "here"), UsageError);
  }
}

TEST_CASE("the conditions whose control is outside are left out, and said what they show") {
  const auto regime = parse_regime("accuracy/pgd of no bias between 0.1 and 0.2", "here");
  const auto found = in_regime(two_conditions(), {regime});
  CHECK(found.reached == std::vector<std::string>{"rate 1"});
  REQUIRE(found.missed.size() == 1);
  CHECK(found.missed[0] == "accuracy/pgd of no bias has median 0.004 under rate 2");
  CHECK(found.runs.size() == 6);
  for (const auto& run : found.runs) CHECK(run.condition == "rate 1");
}

TEST_CASE("of two regimes both must be reached, a bound is inside, and none leaves all runs") {
  const auto runs = two_conditions();
  const auto all = in_regime(runs, {});
  CHECK(all.runs.size() == runs.size());
  const double middle = 0.14 + 0.001 * 2;  // as two_conditions() has it
  CHECK(in_regime(runs, {{"accuracy/pgd", "no bias", middle, middle}}).reached.size() == 1);
  CHECK(in_regime(runs, {{"accuracy/pgd", "no bias", 0.001, 0.1}}).reached ==
        std::vector<std::string>{"rate 2"});
  CHECK(in_regime(runs, {{"accuracy/pgd", "no bias", 0.1}, {"accuracy/pgd", "PGB", 0.6}})
            .reached.empty());
}

TEST_CASE("a control that diverged, was not run or lacks the quantity reaches no regime") {
  auto runs = two_conditions();
  for (auto& run : runs) {
    if (run.arm == "no bias") run.state = "failed";
  }
  const auto failed = in_regime(runs, {{"accuracy/pgd", "no bias", 0}});
  CHECK(failed.reached.empty());
  CHECK(failed.runs.empty());
  CHECK_THAT(failed.missed[0], Contains("no usable value under rate 1"));
  CHECK(in_regime(two_conditions(), {{"accuracy/pgd", "nobody", 0}}).reached.empty());
  CHECK(in_regime(two_conditions(), {{"loss/test", "no bias", 0}}).reached.empty());
}
