// SPDX-License-Identifier: Apache-2.0
// Drawn series: how often a healthy one has a surge told, and whether those that are put in are
// found.
#include "kappascope/core/surges.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kappascope/core/error.h"
#include "support/catch.h"

using namespace kappascope;

namespace {

using Random = std::mt19937_64;
using Values = std::vector<double>;

double between(Random& random, double low, double high) {
  return std::exp(std::uniform_real_distribution<>(std::log(low), std::log(high))(random));
}

enum class Scatter { kNormal, kDependent, kPowerLaw, kGrowing };
constexpr std::array kScatters = {
    Scatter::kNormal, Scatter::kDependent, Scatter::kPowerLaw, Scatter::kGrowing};
enum class Trend { kNone, kDecay, kPower, kWarmUp, kRise };
constexpr std::array kTrends = {
    Trend::kNone, Trend::kDecay, Trend::kPower, Trend::kWarmUp, Trend::kRise};

/// The norm of the gradient in a training without trouble.
Values healthy(Random& random, Scatter scatter, Trend trend, std::size_t steps, double most = 0.5) {
  std::normal_distribution<> normal;
  std::exponential_distribution<> power(between(random, 4, 10));
  const double deviation = between(random, 0.03, most),
               before = std::uniform_real_distribution<>(0.3, 0.97)(random);
  const double start = between(random, 5, 500), time = between(random, 5, 500);
  Values out;
  double last = deviation * normal(random);
  for (std::size_t i = 0; i < steps; ++i) {
    const double at = static_cast<double>(i), part = at / static_cast<double>(steps);
    double log = 0;
    switch (scatter) {
      case Scatter::kNormal:
        log = deviation * normal(random);
        break;
      case Scatter::kDependent:
        log = last = before * last + deviation * std::sqrt(1 - before * before) * normal(random);
        break;
      case Scatter::kPowerLaw:
        log = power(random);
        break;
      case Scatter::kGrowing:
        log = deviation * (0.2 + 0.8 * part) * normal(random);
        break;
    }
    switch (trend) {
      case Trend::kNone:
        break;
      case Trend::kDecay:
        log += std::log(1 + start * std::exp(-at / time));
        break;
      case Trend::kPower:
        log -= 0.7 * std::log(1 + at);
        break;
      case Trend::kWarmUp:
        log += 2 * std::min(1.0, at / time) - at / (20 * time);
        break;
      case Trend::kRise:
        log += 2.3 * part;
        break;
    }
    out.push_back(std::exp(log));
  }
  return out;
}

/// A number of successes that a chance gives less often than once in 10^4, at most.
int most_of(int runs, double chance) {
  const double mean = runs * chance;
  return static_cast<int>(std::ceil(mean + 3.8 * std::sqrt(mean) + 3));
}

}  // namespace

TEST_CASE("surges need a window, a factor above 1 and a chance between 0 and 1") {
  CHECK_NOTHROW(SurgeDetector());
  CHECK_NOTHROW(SurgeDetector({.window = 41, .factor = 1.001, .false_alarms = 0.999}));
  CHECK_THROWS_AS(SurgeDetector({.window = 40}), Error);
  CHECK_THROWS_AS(SurgeDetector({.factor = 1}), Error);
  for (const double chance : {0.0, 1.0, -0.1, std::nan("")})
    CHECK_THROWS_AS(SurgeDetector({.false_alarms = chance}), Error);
}

TEST_CASE("a healthy series has a surge told no more often than its length says") {
  // 20 kinds of series by 5 lengths: less than 1 in 100 that a test like this fails by chance.
  const double stated = SurgeOptions{}.false_alarms;
  int all = 0;
  for (const auto& [steps, runs] :
       {std::pair{50, 100}, {120, 400}, {500, 100}, {1500, 50}, {5000, 15}}) {
    const double chance = stated * std::log(steps / 50.0);
    int told = 0, drawn = 0;
    for (const auto scatter : kScatters) {
      for (const auto trend : kTrends) {
        Random random(static_cast<std::uint64_t>(steps) * 100 +
                      static_cast<std::uint64_t>(scatter) * 10 + static_cast<std::uint64_t>(trend));
        int here = 0;
        for (int run = 0; run < runs; ++run)
          here +=
              find_surges(healthy(random, scatter, trend, static_cast<std::size_t>(steps))).empty()
                  ? 0
                  : 1;
        CAPTURE(steps, static_cast<int>(scatter), static_cast<int>(trend), here);
        CHECK(here <= most_of(runs, chance));
        told += here;
        drawn += runs;
      }
    }
    CAPTURE(steps, told, drawn);
    CHECK(told <= most_of(drawn, chance));
    all += drawn;
  }
  CHECK(all > 10'000);
}

TEST_CASE("a surge of ten times the usual is found, for a step or for good") {
  int found = 0, lasting = 0, drawn = 0;
  for (const auto trend : kTrends) {
    for (const auto scatter : {Scatter::kNormal, Scatter::kDependent, Scatter::kGrowing}) {
      Random random(static_cast<std::uint64_t>(scatter) * 10 + static_cast<std::uint64_t>(trend));
      for (int run = 0; run < 60; ++run) {
        const auto steps = static_cast<std::size_t>(between(random, 80, 2000));
        const auto calm = healthy(random, scatter, trend, steps, 0.2);
        const auto at = std::uniform_int_distribution<std::size_t>(50, steps - 10)(random);
        auto once = calm, long_one = calm;
        once[at] *= 10;
        for (std::size_t i = at; i < steps; ++i) long_one[i] *= 10;
        found += std::ranges::count(find_surges(once), at) > 0 ? 1 : 0;
        const auto surges = find_surges(long_one);
        lasting +=
            std::ranges::any_of(surges, [&](auto begin) { return begin >= at && begin < at + 5; })
                ? 1
                : 0;
        ++drawn;
      }
    }
  }
  CAPTURE(found, lasting, drawn);
  CHECK(found > 0.97 * drawn);
  CHECK(lasting > 0.97 * drawn);
}

TEST_CASE("a surge that lasts is found in noise that hides a single one") {
  int found = 0;
  Random random(9);
  for (int run = 0; run < 200; ++run) {
    auto values = healthy(random, Scatter::kPowerLaw, Trend::kNone, 600);
    for (std::size_t i = 300; i < 330; ++i) values[i] *= 10;
    found += std::ranges::any_of(find_surges(values),
                                 [](auto begin) { return begin >= 300 && begin < 330; })
                 ? 1
                 : 0;
  }
  CHECK(found > 190);
}

TEST_CASE("a surge is told once while it lasts, and another after it") {
  Values values(200, 1.0);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] += 0.01 * static_cast<double>(i * 7 % 11);
  for (const std::size_t at : {80, 81, 82, 140}) values[at] = 5;
  CHECK(find_surges(values) == std::vector<std::size_t>{80, 140});
  values[90] = 2.9;  // less than the factor
  CHECK(find_surges(values) == std::vector<std::size_t>{80, 140});
  for (const double other : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
    values[120] = other;
    CHECK(find_surges(values) == std::vector<std::size_t>{80, 140});
  }
  CHECK_THROWS_AS(SurgeDetector({.window = 20}), Error);
}

TEST_CASE("a detector of surges goes on from its state, and refuses what is none") {
  Random random(2);
  auto values = healthy(random, Scatter::kDependent, Trend::kDecay, 300, 0.2);
  for (const std::size_t at : {60, 62, 150, 220}) values[at] *= 40;
  SurgeDetector whole;
  std::vector<bool> told;
  for (const double value : values) told.push_back(whole.add(value));
  CHECK(std::ranges::count(told, true) == 3);
  for (std::size_t cut = 0; cut < values.size(); cut += 7) {
    SurgeDetector before, after;
    for (std::size_t i = 0; i < cut; ++i) before.add(values[i]);
    after.load(before.state());
    for (std::size_t i = cut; i < values.size(); ++i) REQUIRE(after.add(values[i]) == told[i]);
  }
  auto state = whole.state();
  for (std::size_t length = 0; length < state.size(); ++length)
    CHECK_THROWS_AS(SurgeDetector().load(std::span(state).first(length)), Error);
  state.at(3) = 2;  // neither in a surge nor outside of one
  CHECK_THROWS_AS(SurgeDetector().load(state), Error);
}
