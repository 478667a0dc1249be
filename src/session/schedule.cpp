// SPDX-License-Identifier: Apache-2.0
#include "kappascope/session/schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kappascope::session {

int64_t Schedule::next_emission(int64_t step) const {
  if (step < window) return last >= step ? std::min(last, window - 1) : window - 1;
  const auto multiple = (step + every - 1) / every * every;
  return last >= step ? std::min(last, multiple) : multiple;
}

bool Schedule::emits(int64_t step) const {
  return step >= 0 && next_emission(step) == step;
}

bool Schedule::observes(int64_t step) const {
  return step >= 0 && next_emission(step) - step < window;
}

bool Schedule::opens_window(int64_t step) const {
  return observes(step) && (step == 0 || !observes(step - 1) || emits(step - 1));
}

bool Budget::grants(const Progress& progress, double least_seconds) const {
  if (share_ <= 0 || expected_ < 0) return true;
  const double needed = std::max(expected_, least_seconds);
  if (spent_ + needed > share_ * progress.training_seconds) return false;
  double recent = 0;
  for (const auto& window : recent_)
    if (window.step > progress.step - kSpan) recent += window.seconds;
  // A window may cost twice what the last ones did.
  return recent <= 0 || recent + 2 * needed <= kBurst * share_ * kSpan * progress.step_seconds;
}

int64_t Budget::parts(double step_seconds, int64_t layers) const {
  if (share_ <= 0 || expected_ < 0 || layers < 2) return 1;
  const double whole = expected_ * static_cast<double>(parts_);
  const double parts = std::ceil(whole / (share_ * kSpan * step_seconds));
  return parts < static_cast<double>(layers) ? std::max<int64_t>(1, static_cast<int64_t>(parts))
                                             : layers;
}

void Budget::set_parts(int64_t parts) {
  if (expected_ >= 0) expected_ *= static_cast<double>(parts_) / static_cast<double>(parts);
  parts_ = parts;
}

double Budget::allowance(double training_seconds, double seconds_ahead) const {
  if (share_ <= 0) return std::numeric_limits<double>::infinity();
  const bool first = expected_ < 0;
  const double granted =
      first ? std::max(kFirstWindow, 0.5 * share_ * (training_seconds + seconds_ahead))
            : share_ * training_seconds;
  return std::max(0.0, granted - spent_);
}

void Budget::charge(double seconds) {
  spent_ += seconds;
  window_ += seconds;
}

void Budget::close_window(int64_t step) {
  expected_ = std::max(window_, 0.5 * expected_);
  std::erase_if(recent_, [&](const Window& old) { return old.step <= step - kSpan; });
  recent_.push_back({step, window_});
  window_ = 0;
}

}  // namespace kappascope::session
