// SPDX-License-Identifier: Apache-2.0
#include "core/spikes.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <iterator>
#include <limits>

#include "core/require.h"
#include "kappascope/core/statistics.h"

namespace kappascope {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double height(double value) {
  return std::isnan(value) ? kInfinity : value;
}

double middle_of(const std::vector<double>& sorted) {
  const auto half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

/// The median distance of the values from `middle`: on both sides of it distances grow outwards, so
/// that they need no sorting.
double middle_distance(const std::vector<double>& sorted, double middle) {
  auto right = std::ranges::lower_bound(sorted, middle);
  auto left = right;
  double last = 0;
  double before = 0;
  for (std::size_t taken = 0; taken <= sorted.size() / 2; ++taken) {
    before = last;
    const bool leftwards = left != sorted.begin() &&
                           (right == sorted.end() || middle - *std::prev(left) <= *right - middle);
    last = leftwards ? middle - *--left : *right++ - middle;
  }
  return sorted.size() % 2 == 1 ? last : (before + last) / 2;
}

struct Usual {
  double value = 0, spread = 0;
  // A series that stands still differs by rounding.
  [[nodiscard]] double above(double spreads) const {
    return value + std::max(spreads * spread, 1e-12 * std::abs(value));
  }
};

}  // namespace

std::vector<Spike> find_spikes(std::span<const double> values, const SpikeOptions& options) {
  require(options.window >= 5 && options.end <= options.threshold,
          "spikes need a window of at least 5 and an end below their threshold");
  std::vector<Spike> spikes;
  std::deque<double> calm;     // the last ones, in the order in which they came
  std::vector<double> sorted;  // the same in theirs
  Usual before;                // of the last spike
  std::size_t calm_run = 0;    // values below its end so far, in a row
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = height(values[i]);
    if (!spikes.empty() && !spikes.back().over) {
      auto& spike = spikes.back();
      if (value >= before.above(options.end)) {
        calm_run = 0;
        spike.length = i - spike.begin + 1;
        spike.peak = std::max(spike.peak, value);
      } else {
        spike.over = ++calm_run == options.window / 5;
      }
      continue;
    }
    if (calm.size() == options.window) {
      const double middle = middle_of(sorted);
      if (value > middle) {  // else it is no spike whatever the spread is
        before = {middle, 1.4826 * middle_distance(sorted, middle)};
        if (value > before.above(options.threshold)) {
          calm_run = 0;
          spikes.push_back({i, 1, middle, value, false});
          continue;
        }
      }
      sorted.erase(std::ranges::lower_bound(sorted, calm.front()));
      calm.pop_front();
    }
    if (!std::isfinite(value)) continue;
    calm.push_back(value);
    sorted.insert(std::ranges::upper_bound(sorted, value), value);
  }
  return spikes;
}

double share_above_median(std::span<const double> values, double factor, std::size_t window) {
  if (values.size() <= window || window == 0) return std::numeric_limits<double>::quiet_NaN();
  std::size_t above = 0;
  for (std::size_t i = window; i < values.size(); ++i) {
    const auto before = values.subspan(i - window, window);
    const double usual = median({before.begin(), before.end()});
    if (!(values[i] <= factor * usual)) ++above;
  }
  return static_cast<double>(above) / static_cast<double>(values.size() - window);
}

}  // namespace kappascope
