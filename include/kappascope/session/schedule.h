// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace kappascope::session {

/// When a probe looks and when it speaks: it emits at every multiple of `every` and at `last`, and
/// before the first of these at the end of the first `window` steps. Within a budget, where there
/// is room for it, it emits at every/2, every/4 and so on instead, down to four windows: the first
/// steps say little of training, have paid for little, and a run may be short.
/// It observes the `window` steps that end there.
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

  /// The first step after which something is measured.
  [[nodiscard]] int64_t first() const { return next_emission(0); }

 private:
  [[nodiscard]] int64_t next_emission(int64_t step) const;  // at `step` or after it
};

/// How far a run has come: what the budget of a probe is a share of.
struct Progress {
  int64_t step = 0;
  double training_seconds = 0;  ///< spent so far outside all probes
  double step_seconds = 0;      ///< what a step takes without them
  double seconds_ahead = 0;     ///< training time to come; 0 when not known
};

/// Keeps one probe to its budget: says at the start of each window whether it can be afforded, and
/// at its end what its computation may take.
class Budget {
 public:
  /// What the first window of an unknown cost may take, in seconds.
  static constexpr double kFirstWindow = 2;
  /// Seconds of training before it, where the length of training is known.
  static constexpr double kBeforeFirst = 30;
  /// What windows of a known cost may always take together, in seconds: nobody notices it.
  static constexpr double kFree = 0.05;
  /// Over any kSpan steps windows take at most kBurst times the share of these steps' time, unless
  /// a single window of one layer takes more.
  static constexpr int64_t kSpan = 200;
  static constexpr double kBurst = 2;

  /// `presumed`: seconds that a unit of work takes, until a window has said it; -1: not known.
  explicit Budget(double share, double presumed = -1) : share_(share), presumed_(presumed) {}
  /// Whether a window of so much work may open; the unit is the caller's. `least_seconds`: what it
  /// is known to need. Where nothing is known of the cost the first window is granted: it is
  /// bounded by allowance(), and what it costs is what later decisions go by. Where the length of
  /// training is known it waits for kBeforeFirst, or for half of a shorter training: it may be the
  /// only one, and the first steps say little.
  [[nodiscard]] bool grants(const Progress& progress,
                            double work = 1,
                            double least_seconds = 0) const;
  /// Whether a window has said what work costs.
  [[nodiscard]] bool knows_cost() const { return expected_ >= 0; }
  /// Seconds that so much work is expected to take; 0 where that is not known.
  [[nodiscard]] double cost(double work) const;
  /// Seconds that a window may be expected to take: what is available, and no more than the share
  /// of kSpan steps, half of what is allowed, as a window may cost twice what is expected.
  [[nodiscard]] double window(const Progress& progress) const;
  /// Seconds that may be spent now: the share of the time so far, or half of the whole training's
  /// where its length is known and that is more, or kFree; less what is spent, which may be more.
  [[nodiscard]] double available(const Progress& progress) const;
  /// Seconds that the computation at the end of this window may take; infinity without a budget.
  /// For the first window of an unknown cost half of the whole training's share, or kFirstWindow
  /// where that is more; later what is left of the share. `seconds_ahead`: training time to come, 0
  /// when not known.
  [[nodiscard]] double allowance(double training_seconds, double seconds_ahead) const;
  void charge(double seconds);
  /// Ends a window of so much work: its cost becomes the expectation for the next. 0: it says
  /// nothing of what work costs.
  void close_window(int64_t step, double work = 1);
  [[nodiscard]] double spent() const { return spent_; }

 private:
  struct Window {
    int64_t step;
    double seconds;
  };
  double share_, presumed_;
  double spent_ = 0, window_ = 0, expected_ = -1;  // the last: for a unit of work
  std::vector<Window> recent_;                     // that ended in the last kSpan steps
};

}  // namespace kappascope::session
