// SPDX-License-Identifier: Apache-2.0
#include "lab/study/comparison.h"

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kappascope/core/error.h"
#include "support/catch.h"

using namespace kappascope;
using namespace kappascope::study;

namespace {

RunEnd end_of(const std::string& arm,
              const std::string& condition,
              int seed,
              double loss,
              std::int64_t step = 9) {
  RunEnd end;
  end.arm = arm;
  end.condition = condition;
  end.seed = std::to_string(seed);
  end.state = "finished";
  end.values["loss/test"] = {loss, step};
  return end;
}

std::vector<RunEnd> two_conditions() {
  std::vector<RunEnd> ends;
  for (int seed = 1; seed <= 3; ++seed) {
    for (const auto* condition : {"cold", "warm"}) {
      const double base = 10.0 * seed + (condition[0] == 'w' ? 100 : 0);
      ends.push_back(end_of("none", condition, seed, base));
      ends.push_back(end_of("PGB", condition, seed, base - 1 - 0.1 * seed));
    }
  }
  return ends;
}

/// Runs of `arm` and "none" that differ by `effect` in the mean, spread by 0.1 from seed to seed.
void add_pairs(std::vector<RunEnd>& ends, const std::string& arm, double effect) {
  for (int seed = 1; seed <= 6; ++seed) {
    if (arm == "b") ends.push_back(end_of("none", "", seed, seed));
    ends.push_back(end_of(arm, "", seed, seed + effect + 0.1 * (seed % 2 == 0 ? 1 : -1)));
  }
}

}  // namespace

TEST_CASE("arms are compared by seed within each condition, and corrected over all") {
  const auto found = compare_runs(two_conditions(), "none", {"loss/test"});
  REQUIRE(found.size() == 2);
  CHECK(found[0].condition == "cold");
  CHECK(found[0].arm == "PGB");
  CHECK(found[0].control_median == 20);
  CHECK(found[0].arm_median == Approx(18.8));
  CHECK(found[0].difference.mean == Approx(-1.2));  // the seeds' own levels are gone
  CHECK(found[0].difference.pairs == 3);
  CHECK(found[1].control_median == 120);
  CHECK(found[0].corrected_p == Approx(2 * found[0].difference.p));
}

TEST_CASE("what is called detectable is found at the level that comparisons are judged at") {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  int missed = 0, beyond_5_percent = 0;
  for (int study = 0; study < 200; ++study) {
    std::vector<RunEnd> ends;
    for (int seed = 1; seed <= 5; ++seed) {
      for (int condition = 0; condition < 6; ++condition) {
        const auto name = std::to_string(condition);
        ends.push_back(end_of("none", name, seed, normal(random)));
        ends.push_back(end_of("PGB", name, seed, normal(random) + condition));
      }
    }
    for (const auto& c : compare_runs(ends, "none", {"loss/test"})) {
      if (c.is_significant()) continue;
      ++missed;
      CHECK(std::abs(c.difference.mean) < c.difference.detectable);
      if (std::abs(c.difference.mean) > c.difference.detectable_at(kLevel)) ++beyond_5_percent;
    }
  }
  CHECK(missed > 200);
  CHECK(beyond_5_percent > 10);  // at 5 % alone it would not hold
}

TEST_CASE("a difference is significant below the level, never without a p-value") {
  Comparison c;
  c.corrected_p = 0.99 * kLevel;
  CHECK(c.is_significant());
  c.corrected_p = kLevel;
  CHECK_FALSE(c.is_significant());
  c.corrected_p = std::nan("");
  CHECK_FALSE(c.is_significant());
}

TEST_CASE("a diverged run is left out and counted, a missing seed too") {
  auto ends = two_conditions();
  ends[1].state = "failed";
  ends[1].values.clear();
  ends.erase(ends.begin() + 2);  // none, warm, seed 1
  const auto found = compare_runs(ends, "none", {"loss/test"});
  CHECK(found[0].difference.pairs == 2);
  CHECK(found[0].difference.left_out == 1);
  CHECK(found[1].difference.pairs == 2);
  CHECK(found[1].unpaired == 1);
}

TEST_CASE("what cannot be compared is refused") {
  const auto ends = two_conditions();
  CHECK_THROWS_AS(compare_runs(ends, "nobody", {"loss/test"}), UsageError);
  CHECK_THROWS_AS(compare_runs(ends, "none", {"accuracy/test"}), UsageError);
  auto twice = ends;
  twice.push_back(end_of("PGB", "cold", 1, 5));
  CHECK_THROWS_AS(compare_runs(twice, "none", {"loss/test"}), UsageError);
  auto other_step = ends;
  other_step[1].values["loss/test"].step = 8;
  CHECK_THROWS_AS(compare_runs(other_step, "none", {"loss/test"}), UsageError);
  auto running = ends;
  running[0].state = "running";
  CHECK_THROWS_AS(compare_runs(running, "none", {"loss/test"}), Error);
}

TEST_CASE("comparisons made at once are corrected together, and say what they would have found") {
  std::vector<RunEnd> ends;
  add_pairs(ends, "b", 5);
  add_pairs(ends, "c", 0.02);
  add_pairs(ends, "d", 0.01);
  const auto all = compare_runs(ends, "none", {"loss/test"});
  REQUIRE(all.size() == 3);
  CHECK(all[0].corrected_p == Approx(3 * all[0].difference.p));
  CHECK(all[1].corrected_p == 1);
  CHECK_FALSE(all[1].is_significant());
  // Two are not found, so that each is judged at half the level; with them the first at a third.
  CHECK(all[0].difference.detectable == Approx(all[0].difference.detectable_at(kLevel / 3)));
  CHECK(all[1].difference.detectable == Approx(all[1].difference.detectable_at(kLevel / 2)));
  CHECK(all[1].difference.detectable > all[1].difference.detectable_at(kLevel));
}

TEST_CASE("a comparison without a p-value is none of those that are corrected") {
  std::vector<RunEnd> ends;
  add_pairs(ends, "b", 5);
  for (int seed = 1; seed <= 6; ++seed) ends.push_back(end_of("always", "", seed, seed + 1));
  const auto all = compare_runs(ends, "none", {"loss/test"});
  REQUIRE(all.size() == 2);
  CHECK(all[0].corrected_p == all[0].difference.p);
  CHECK(std::isnan(all[1].corrected_p));
  CHECK_FALSE(all[1].is_significant());
}
