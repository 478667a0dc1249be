// SPDX-License-Identifier: Apache-2.0
#include "kappascope/train/schedule.h"

#include <algorithm>

namespace kappascope::train {

bool Schedule::emits(int64_t step) const {
  if (step < 0) return false;
  if (step == last) return true;
  return step == window - 1 || (step >= window && step % every == 0);
}

bool Schedule::observes(int64_t step) const {
  for (int64_t ahead = 0; ahead < window; ++ahead) {
    if (emits(step + ahead)) return true;
  }
  return false;
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
