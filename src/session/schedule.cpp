// SPDX-License-Identifier: Apache-2.0
#include "kappascope/session/schedule.h"

#include <algorithm>
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

bool Budget::grants(double training_seconds, double least_seconds) const {
  if (share_ <= 0 || expected_ < 0) return true;
  return spent_ + std::max(expected_, least_seconds) <= share_ * training_seconds;
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

void Budget::close_window() {
  expected_ = std::max(window_, 0.5 * expected_);
  window_ = 0;
}

}  // namespace kappascope::session
