// SPDX-License-Identifier: Apache-2.0
#include "kappascope/session/schedule.h"

#include <algorithm>
#include <limits>

namespace kappascope::session {
namespace {

constexpr int64_t kLeastWindows = 4;  // before the first emission within a budget

}  // namespace

int64_t Schedule::next_emission(int64_t step) const {
  const int64_t least = kLeastWindows * window;
  int64_t next = (step + every - 1) / every * every;
  if (budget > 0 && every / 2 >= least) {
    if (step <= every) next = every;
    while (step <= every && next / 2 >= std::max(step, least)) next /= 2;
  } else if (step < window) {
    next = window - 1;
  }
  return last >= step ? std::min(last, next) : next;
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
  if (share_ <= 0) return true;
  if (presumed_ < 0 && spent_ == 0)
    return progress.training_seconds >= std::min(progress.seconds_ahead, kBeforeFirst);
  const double needed = std::max(cost(work), least_seconds);
  if (needed > available(progress)) return false;
  double recent = 0;
  for (const auto& window : recent_)
    if (window.step > progress.step - kSpan) recent += window.seconds;
  // A window may cost twice what the last ones did.
  return recent + needed <= kFree || recent <= 0 ||
         recent + 2 * needed <= kBurst * share_ * kSpan * progress.step_seconds;
}

double Budget::cost(double work) const {
  return std::max(0.0, knows_cost() ? expected_ : presumed_) * work;
}

double Budget::available(const Progress& progress) const {
  const double whole = progress.training_seconds + progress.seconds_ahead;
  const double granted =
      std::max({share_ * progress.training_seconds, 0.5 * share_ * whole, kFree});
  return granted - spent_;
}

double Budget::window(const Progress& progress) const {
  return std::min(available(progress), std::max(kFree, share_ * kSpan * progress.step_seconds));
}

double Budget::allowance(double training_seconds, double seconds_ahead) const {
  if (share_ <= 0) return std::numeric_limits<double>::infinity();
  if (knows_cost()) return std::max(0.0, share_ * training_seconds - spent_);
  const double whole = training_seconds + seconds_ahead;
  return std::max(0.0, std::max(kFirstWindow, 0.5 * share_ * whole) - spent_);
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
