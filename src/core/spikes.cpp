// SPDX-License-Identifier: Apache-2.0
#include "kappascope/core/spikes.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <iterator>
#include <limits>

#include "kappascope/core/require.h"
#include "kappascope/core/statistics.h"

namespace kappascope {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double height(double value) {
  return std::isnan(value) ? kInfinity : value;
}

/// What is usual at a point, from the calm values before it.
struct Usual {
  double value = 0, spread = 0;
  [[nodiscard]] double above(double spreads) const {
    // A series that stands still differs by rounding.
    return value + std::max(spreads * spread, 1e-12 * std::abs(value));
  }
};

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

/// The last calm values, in the order in which they came and in theirs.
class Calm {
 public:
  void add(double value) {
    latest_.push_back(value);
    sorted_.insert(std::ranges::upper_bound(sorted_, value), value);
  }
  void drop_first() {
    sorted_.erase(std::ranges::lower_bound(sorted_, latest_.front()));
    latest_.pop_front();
  }
  [[nodiscard]] std::size_t size() const { return latest_.size(); }
  [[nodiscard]] Usual usual() const {
    const double middle = middle_of(sorted_);
    return {middle, 1.4826 * middle_distance(sorted_, middle)};
  }

 private:
  std::deque<double> latest_;
  std::vector<double> sorted_;
};

}  // namespace

std::vector<Spike> find_spikes(std::span<const double> values, const SpikeOptions& options) {
  require(options.window >= 5 && options.end <= options.threshold,
          "spikes need a window of at least 5 and an end below their threshold");
  const std::size_t quiet = options.window / 5;
  std::vector<Spike> spikes;
  Calm calm;
  bool in_spike = false;
  Usual before;              // of the spike that is on
  std::size_t calm_run = 0;  // values below its end so far, in a row
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = height(values[i]);
    if (in_spike) {
      auto& spike = spikes.back();
      if (value >= before.above(options.end)) {
        spike.length = i - spike.begin + 1;
        spike.peak = std::max(spike.peak, value);
        calm_run = 0;
      } else if (++calm_run == quiet) {
        spike.over = true;
        in_spike = false;
      }
      continue;
    }
    if (calm.size() == options.window) {
      const auto usual = calm.usual();
      if (value > usual.above(options.threshold)) {
        spikes.push_back({i, 1, usual.value, value, false});
        before = usual;
        in_spike = true;
        calm_run = 0;
        continue;
      }
      calm.drop_first();
    }
    if (std::isfinite(value)) calm.add(value);
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
