// SPDX-License-Identifier: Apache-2.0
#include "core/spikes.h"

#include <algorithm>
#include <cmath>
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

}  // namespace

// A series that stands still differs by rounding.
double SpikeDetector::Usual::above(double spreads) const {
  return value + std::max(spreads * spread, 1e-12 * std::abs(value));
}

SpikeDetector::SpikeDetector(const SpikeOptions& options) : options_(options) {
  require(options.window >= 5 && options.end <= options.threshold,
          "spikes need a window of at least 5 and an end below their threshold");
}

SpikeDetector::Usual SpikeDetector::usual_now() const {
  const double middle = middle_of(sorted_);
  return {middle, 1.4826 * middle_distance(sorted_, middle)};
}

void SpikeDetector::keep(double calm) {
  calm_.push_back(calm);
  sorted_.insert(std::ranges::upper_bound(sorted_, calm), calm);
}

SpikeDetector::Place SpikeDetector::add(double value) {
  value = height(value);
  if (in_spike_) {
    if (value >= before_.above(options_.end)) {
      calm_run_ = 0;
      return Place::kInside;
    }
    if (++calm_run_ < options_.window / 5) return Place::kBelow;
    in_spike_ = false;
    return Place::kOver;
  }
  if (calm_.size() == options_.window) {
    if (value > middle_of(sorted_)) {  // else it is no spike whatever the spread is
      const auto usual = usual_now();
      if (value > usual.above(options_.threshold)) {
        before_ = usual;
        in_spike_ = true;
        calm_run_ = 0;
        return Place::kBegin;
      }
    }
    sorted_.erase(std::ranges::lower_bound(sorted_, calm_.front()));
    calm_.pop_front();
  }
  if (std::isfinite(value)) keep(value);
  return Place::kCalm;
}

double SpikeDetector::usual() const {
  if (in_spike_) return before_.value;
  return calm_.size() < options_.window ? std::numeric_limits<double>::quiet_NaN()
                                        : usual_now().value;
}

std::vector<double> SpikeDetector::state() const {
  std::vector<double> out = {
      in_spike_ ? 1.0 : 0.0, before_.value, before_.spread, static_cast<double>(calm_run_)};
  out.insert(out.end(), calm_.begin(), calm_.end());
  return out;
}

void SpikeDetector::load(std::span<const double> state) {
  constexpr std::size_t kFixed = 4;
  require(state.size() >= kFixed && state.size() <= kFixed + options_.window && state[3] >= 0 &&
              state[3] <= static_cast<double>(options_.window),
          "{} numbers are no state of a detector of spikes",
          state.size());
  in_spike_ = state[0] != 0;
  before_ = {state[1], state[2]};
  calm_run_ = static_cast<std::size_t>(state[3]);
  calm_.clear();
  sorted_.clear();
  for (const double calm : state.subspan(kFixed)) {
    require(std::isfinite(calm), "a calm value of a detector of spikes is no number");
    keep(calm);
  }
}

std::vector<Spike> find_spikes(std::span<const double> values, const SpikeOptions& options) {
  SpikeDetector detector(options);
  std::vector<Spike> spikes;
  for (std::size_t i = 0; i < values.size(); ++i) {
    switch (detector.add(values[i])) {
      case SpikeDetector::Place::kBegin:
        spikes.push_back({i, 1, detector.usual(), height(values[i]), false});
        break;
      case SpikeDetector::Place::kInside:
        spikes.back().length = i - spikes.back().begin + 1;
        spikes.back().peak = std::max(spikes.back().peak, height(values[i]));
        break;
      case SpikeDetector::Place::kOver:
        spikes.back().over = true;
        break;
      case SpikeDetector::Place::kCalm:
      case SpikeDetector::Place::kBelow:
        break;
    }
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
