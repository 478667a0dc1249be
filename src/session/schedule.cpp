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

bool Budget::grants(const Progress& progress, double work, double least_seconds) const {
  if (share_ <= 0 || spent_ == 0) return true;
  const double needed = std::max(cost(work), least_seconds);
  if (spent_ + needed > share_ * progress.training_seconds) return false;
  double recent = 0;
  for (const auto& window : recent_)
    if (window.step > progress.step - kSpan) recent += window.seconds;
  // A window may cost twice what the last ones did.
  return recent <= 0 || recent + 2 * needed <= kBurst * share_ * kSpan * progress.step_seconds;
}

double Budget::cost(double work) const {
  return std::max(0.0, expected_) * work;
}

double Budget::window(double step_seconds) const {
  return share_ * kSpan * step_seconds;
}

double Budget::beginning(double training_seconds, double seconds_ahead) const {
  const double granted = std::max(kFirstWindow, 0.5 * share_ * (training_seconds + seconds_ahead));
  return std::max(0.0, granted - spent_);
}

double Budget::allowance(double training_seconds, double seconds_ahead) const {
  if (share_ <= 0) return std::numeric_limits<double>::infinity();
  return knows_cost() ? std::max(0.0, share_ * training_seconds - spent_)
                      : beginning(training_seconds, seconds_ahead);
}

void Budget::charge(double seconds) {
  spent_ += seconds;
  window_ += seconds;
}

void Budget::close_window(int64_t step, double work) {
  if (work > 0) expected_ = std::max(window_ / work, 0.5 * expected_);
  std::erase_if(recent_, [&](const Window& old) { return old.step <= step - kSpan; });
  recent_.push_back({step, window_});
  window_ = 0;
}

}  // namespace kappascope::session
