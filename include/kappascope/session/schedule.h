// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace kappascope::session {

/// When a probe looks and when it speaks: it emits at the end of the first `window` steps, then at
/// every multiple of `every`, and at `last`; it observes the `window` steps that end there.
struct Schedule {
  int64_t every = 200;  ///< steps between two emissions; at least 1
  int64_t window = 4;   ///< steps observed for one emission; features drift, so a window is short
  int64_t last = -1;    ///< the last step of training when known, so that the end is measured too
  /// At most this share of the training time may go into the probe: a window that would exceed it
  /// is cut to it or left out. 0 = no limit; then the probed steps depend on nothing but the step
  /// number.
  double budget = 0;

  [[nodiscard]] bool emits(int64_t step) const;
  [[nodiscard]] bool observes(int64_t step) const;
  [[nodiscard]] bool opens_window(int64_t step) const;

 private:
  [[nodiscard]] int64_t next_emission(int64_t step) const;  // at `step` or after it
};

/// Keeps one probe to its budget: says at the start of each window whether it can be afforded, and
/// at its end what its computation may take.
class Budget {
 public:
  /// What the first window may always take, in seconds: a wait that nobody notices.
  static constexpr double kFirstWindow = 2;

  explicit Budget(double share) : share_(share) {}
  /// `training_seconds`: time spent so far outside all probes; `least_seconds`: what the window is
  /// known to need. The first window is always granted: it is bounded by allowance(), and what it
  /// costs is what later decisions go by.
  [[nodiscard]] bool grants(double training_seconds, double least_seconds = 0) const;
  /// Seconds that the computation at the end of this window may take; infinity without a budget.
  /// For the first window, half of the whole training's share, or kFirstWindow where that is more;
  /// later what is left of the share. `seconds_ahead`: training time to come, 0 when not known.
  [[nodiscard]] double allowance(double training_seconds, double seconds_ahead) const;
  void charge(double seconds);
  /// Ends a window: its cost becomes the expectation for the next.
  void close_window();
  [[nodiscard]] double spent() const { return spent_; }

 private:
  double share_;
  double spent_ = 0, window_ = 0, expected_ = -1;
};

}  // namespace kappascope::session
