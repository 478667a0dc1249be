// SPDX-License-Identifier: Apache-2.0
#include "kappascope/core/surges.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "core/require.h"
#include "kappascope/core/statistics.h"

namespace kappascope {
namespace {

constexpr std::size_t kRecent = 10, kHighest = 20, kCalm = 10, kLasting = 5;
constexpr std::size_t kStart = 20;  // whose heights say nothing: a warm-up rises there

}  // namespace

SurgeDetector::SurgeDetector(const SurgeOptions& options)
    : options_(options), usual_(std::numeric_limits<double>::quiet_NaN()), end_(usual_) {
  require(options.window >= kStart + kHighest + 1 && options.factor > 1 &&
              options.false_alarms > 0 && options.false_alarms < 1,
          "surges need a window of {} values or more, a factor above 1 and a chance",
          kStart + kHighest + 1);
  constexpr double k = kHighest;
  // Half of the chance for single values, half for what lasts.
  reach_ = k * (std::pow(options.false_alarms / 2, -1 / k) - 1);
}

// Whether a surge begins with the next number of a track; else it is one more to go by.
bool SurgeDetector::rises(Track& track, double log) {
  auto& [recent, highest] = track;
  if (recent.size() == kRecent) {
    const double usual = median({recent.begin(), recent.end()}), height = log - usual;
    if (seen_ >= options_.window) {
      const double sum = std::accumulate(highest.begin(), highest.begin() + kHighest, 0.0);
      const double excess = sum / kHighest - highest.back();
      const double bar = std::max(highest.front() + reach_ * excess, std::log(options_.factor));
      if (height > bar) {
        usual_ = usual;
        end_ = usual + bar / 2;
        return true;
      }
    }
    if (seen_ >= kStart)
      highest.insert(std::ranges::upper_bound(highest, height, std::greater<>()), height);
    if (highest.size() > kHighest + 1) highest.pop_back();
    recent.pop_front();
  }
  recent.push_back(log);
  return false;
}

bool SurgeDetector::add(double value) {
  if (!(value > 0) || !std::isfinite(value)) return false;
  const double log = std::log(value);
  if (in_surge_) {
    below_ = log < end_ ? below_ + 1 : 0;
    in_surge_ = below_ < kCalm;
    return false;
  }
  last_.push_back(log);
  if (last_.size() > kLasting) last_.pop_front();
  in_surge_ = rises(single_, log) ||
              (last_.size() == kLasting && rises(lasting_, median({last_.begin(), last_.end()})));
  if (in_surge_) {
    last_.clear();
    below_ = 0;
  } else {
    ++seen_;
  }
  return in_surge_;
}

double SurgeDetector::usual() const {
  return std::exp(usual_);
}

std::vector<double> SurgeDetector::state() const {
  std::vector<double> out = {
      static_cast<double>(seen_), usual_, end_, in_surge_ ? 1.0 : 0.0, static_cast<double>(below_)};
  const auto add = [&out](const auto& list) {
    out.push_back(static_cast<double>(list.size()));
    out.insert(out.end(), list.begin(), list.end());
  };
  add(last_);
  for (const auto* track : {&single_, &lasting_}) {
    add(track->recent);
    add(track->highest);
  }
  return out;
}

void SurgeDetector::load(std::span<const double> state) {
  auto rest = state;
  const auto next = [&](double most) {
    require(!rest.empty() && rest.front() >= 0 && rest.front() <= most,
            "{} numbers are no state of a detector of surges",
            state.size());
    const double number = rest.front();
    rest = rest.subspan(1);
    return number;
  };
  const auto fill = [&](auto& list, std::size_t most) {
    const auto count = static_cast<std::size_t>(next(static_cast<double>(most)));
    const bool known =
        count <= rest.size() &&
        std::ranges::all_of(rest.first(count), [](double number) { return std::isfinite(number); });
    require(known, "a list of a detector of surges is damaged");
    list.assign(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(count));
    rest = rest.subspan(count);
  };
  seen_ = static_cast<std::size_t>(next(1e18));
  require(rest.size() >= 2, "a state of a detector of surges ends early");
  usual_ = rest[0];
  end_ = rest[1];
  rest = rest.subspan(2);
  in_surge_ = next(1) != 0;
  below_ = static_cast<std::size_t>(next(kCalm));
  fill(last_, kLasting);
  for (auto* track : {&single_, &lasting_}) {
    fill(track->recent, kRecent);
    fill(track->highest, kHighest + 1);
  }
  require(rest.empty(), "a state of a detector of surges is too long");
}

std::vector<std::size_t> find_surges(std::span<const double> values, const SurgeOptions& options) {
  SurgeDetector detector(options);
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (detector.add(values[i])) begins.push_back(i);
  return begins;
}

}  // namespace kappascope
