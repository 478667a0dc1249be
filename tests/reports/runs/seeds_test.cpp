// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/seeds.h"

#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "reports/diagnosis/ratio.h"
#include "support/catch.h"

namespace kappascope::reports {
namespace {

bool is(const SeedRange& range, std::optional<double> lower, std::optional<double> upper) {
  return range.lower == lower && range.upper == upper;
}

/// A run that measured what a bias changes in one layer, between these ends.
Arm run_of(double value, double lower, double upper) {
  Arm arm;
  const std::string layer = "blocks.0.down_proj", name = id::kLearningBiasChanges;
  arm.scalars[{name, layer}].push_back(
      {90, {.name = name, .layer = layer, .value = value, .lower = lower, .upper = upper}});
  return arm;
}

}  // namespace

TEST_CASE("a median over few seeds reaches as far as the interval of any of them") {
  CHECK(is(range_over_seeds({{2, 1, 4}, {3, 2.5, 3.5}}), 1, 4));
  CHECK(is(range_over_seeds({{3, 2, 4}}), 2, 4));
  const auto loss = [](double value) {
    return seed_value({.name = "loss/test", .value = value}, true);
  };
  CHECK(is(range_over_seeds({loss(1), loss(5), loss(2)}), 1, 5));
  CHECK(is(range_over_seeds({loss(1)}), {}, {}));
  CHECK(is(range_over_seeds({}), {}, {}));
}

TEST_CASE("what one seed does not know is not known of their median, however many agree") {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const auto open = [](double value, std::optional<double> lower, std::optional<double> upper) {
    return seed_value({.name = "kappa/sigma",
                       .value = value,
                       .lower = lower,
                       .upper = upper,
                       .status = store::Status::kNotResolvable},
                      false);
  };
  CHECK(is(range_over_seeds({open(9, 7, {}), {8, 6, 10}}), 6, {}));
  CHECK(is(range_over_seeds({open(9, {}, {}), {8, 6, 10}}), {}, {}));
  CHECK(is(range_over_seeds(std::vector(6, open(120, 100, kInf))), 100, kInf));
  CHECK(is(range_over_seeds({{8, 6, 10}, open(std::nan(""), 1500, kInf)}), 6, kInf));
  // A number without an interval where others of its series have one.
  CHECK(is(
      range_over_seeds({seed_value({.name = "magnitude/lost_e4m3", .value = 1}, false)}), {}, {}));
}

TEST_CASE("of six seeds the lowest and the highest hold the median in 31 of 32 draws") {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  constexpr int kDraws = 4000;
  int held = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<SeedValue> seeds(6);
    for (auto& one : seeds) one = {normal(random), -100, 100};
    const auto range = range_over_seeds(seeds);
    held += *range.lower <= 0 && 0 <= *range.upper ? 1 : 0;
  }
  // Four standard deviations of a binomial share: false alarms in 6 of 100,000 seeds.
  CHECK(held / double{kDraws} == Approx(31.0 / 32).margin(0.011));
}

TEST_CASE("a ratio over seeds is no surer than its seeds are") {
  const auto side = [](const std::vector<Arm>& runs) {
    Arm arm;
    for (const Arm& run : runs) arm.runs.push_back(&run);
    arm.seeds = runs.size();
    return side_of(steps_bias_changes(arm, "blocks.0.down_proj"), 1);
  };
  const auto unsure = run_of(0.996, 0.992, 1.001), sure = run_of(0.98, 0.96, 0.99);
  CHECK(side({sure, sure, sure}) == Side::kBelow);
  CHECK(side({sure, unsure, sure}) == Side::kUndecided);
  Arm tried;
  tried.scalars[{id::kLearningSecondMoment, "blocks.0.down_proj"}].push_back({90, {}});
  CHECK(side({sure, sure, tried}) == Side::kUndecided);
  // The other seeds did not come to this layer.
  CHECK(side({unsure, Arm(), Arm()}) == Side::kUndecided);
  CHECK(side({sure, Arm(), Arm()}) == Side::kBelow);
  // So many that agree are sure without.
  CHECK(side({unsure, unsure, unsure, unsure, unsure, unsure}) == Side::kBelow);
}

}  // namespace kappascope::reports
