// SPDX-License-Identifier: Apache-2.0
#include "kappascope/train/schedule.h"

#include <algorithm>

namespace kappascope::train {

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

bool Budget::grants(double training_seconds) const {
  if (share_ <= 0 || expected_ < 0) return true;
  return spent_ + expected_ <= share_ * training_seconds;
}

void Budget::charge(double seconds) {
  spent_ += seconds;
  window_ += seconds;
}

void Budget::close_window() {
  expected_ = std::max(window_, 0.5 * expected_);
  window_ = 0;
}

}  // namespace kappascope::train
