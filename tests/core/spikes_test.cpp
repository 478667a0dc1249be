// SPDX-License-Identifier: Apache-2.0
#include "core/spikes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kappascope/core/error.h"
#include "kappascope/core/statistics.h"
#include "support/catch.h"

using namespace kappascope;

namespace {

/// A loss that falls from 3 to 1 with normal noise of deviation 0.02.
std::vector<double> calm_loss(std::size_t steps, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> noise(0, 0.02);
  std::vector<double> loss;
  for (std::size_t i = 0; i < steps; ++i) {
    loss.push_back(1 + 2 * std::exp(-static_cast<double>(i) / 100.0) + noise(generator));
  }
  return loss;
}

/// The first value above 8 spreads, found by sorting the 50 before it; spikes.h says the rest.
std::size_t first_spike(const std::vector<double>& loss) {
  for (std::size_t i = 50; i < loss.size(); ++i) {
    std::vector<double> before(loss.begin() + static_cast<std::ptrdiff_t>(i) - 50,
                               loss.begin() + static_cast<std::ptrdiff_t>(i));
    const double usual = median(before);
    for (double& value : before) value = std::abs(value - usual);
    const double spread = std::max(8 * 1.4826 * median(before), 1e-12 * std::abs(usual));
    if (loss[i] > usual + spread) return i;
  }
  return loss.size();
}

}  // namespace

TEST_CASE("spikes begin where sorting the values before each finds one") {
  std::size_t found = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 generator(seed);
    std::student_t_distribution<double> noise(3);
    std::vector<double> loss;
    // Whole numbers: many are equal.
    for (int i = 0; i < 300; ++i) loss.push_back(std::round(4 * noise(generator)));
    const auto spikes = find_spikes(loss);
    const auto expected = first_spike(loss);
    CHECK((spikes.empty() ? loss.size() : spikes.front().begin) == expected);
    found += spikes.empty() ? 0 : 1;
  }
  CHECK(found > 20);
  CHECK(found < 180);
}

TEST_CASE("a falling noisy loss has no spikes") {
  // 1e5 values, at fixed seeds: what spikes.h says of false alarms.
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    CHECK(find_spikes(calm_loss(2000, seed)).empty());
  }
}

TEST_CASE("a spike is found where it is, as high and as long as it is") {
  auto loss = calm_loss(1000, 1);
  for (std::size_t i = 0; i < 40; ++i) loss[600 + i] += 2.0 * (1 - static_cast<double>(i) / 50.0);
  loss[800] = std::numeric_limits<double>::quiet_NaN();
  const auto spikes = find_spikes(loss);
  REQUIRE(spikes.size() == 2);
  CHECK(spikes[0].begin == 600);
  CHECK(spikes[0].length == 40);
  CHECK(spikes[0].over);
  CHECK(spikes[0].usual == Approx(1).margin(0.03));
  CHECK(spikes[0].peak == Approx(3).margin(0.1));
  CHECK(spikes[1].begin == 800);
  CHECK(spikes[1].length == 1);
  CHECK(std::isinf(spikes[1].peak));
}

TEST_CASE("two rises with a short calm between them are one spike; a new level never ends") {
  auto loss = calm_loss(1000, 2);
  for (const std::size_t i : {600U, 601U, 606U, 607U}) loss[i] += 1;
  for (std::size_t i = 900; i < 1000; ++i) loss[i] += 1;
  const auto spikes = find_spikes(loss);
  REQUIRE(spikes.size() == 2);
  CHECK(spikes[0].length == 8);
  CHECK(spikes[1].begin == 900);
  CHECK(spikes[1].length == 100);
  CHECK_FALSE(spikes[1].over);
}

TEST_CASE("a series that stands still has no spikes, and short ones none that can be told") {
  CHECK(find_spikes(std::vector<double>(500, 0.7)).empty());
  CHECK(find_spikes(std::vector<double>{}).empty());
  auto loss = calm_loss(40, 3);
  loss[30] = 9;
  CHECK(find_spikes(loss).empty());
}

TEST_CASE("five values are enough to tell a spike by, and four are refused") {
  std::vector<double> loss(20, 1.0);
  for (std::size_t i = 0; i < loss.size(); ++i) loss[i] += 0.01 * static_cast<double>(i % 3);
  loss[12] = 9;
  SpikeOptions options;
  options.window = 5;
  REQUIRE(find_spikes(loss, options).size() == 1);
  CHECK(find_spikes(loss, options).front().begin == 12);
  options.window = 4;
  CHECK_THROWS(find_spikes(loss, options));
}

TEST_CASE("a fifth of a window of calm values ends a spike, and not one less") {
  for (const auto calm : {std::size_t{9}, std::size_t{10}}) {
    CAPTURE(calm);
    auto loss = calm_loss(301 + calm, 4);
    loss[300] = 9;
    const auto spikes = find_spikes(loss);
    REQUIRE(spikes.size() == 1);
    CHECK(spikes.front().over == (calm == 10));
    CHECK(spikes.front().begin == 300);
  }
}

TEST_CASE("the share above a multiple of the median before it") {
  std::vector<double> norms(150, 2.0);
  norms[10] = 100;  // before the first window is whole
  norms[70] = 7;
  norms[90] = std::numeric_limits<double>::quiet_NaN();
  norms[100] = 5.9;
  CHECK(share_above_median(norms, 3) == Approx(2 / 100.0));
  CHECK(share_above_median(norms, 2) == Approx(3 / 100.0));
  CHECK(std::isnan(share_above_median(std::vector<double>(50, 1.0), 3)));
}
