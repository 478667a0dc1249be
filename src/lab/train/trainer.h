// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>

#include "kappascope/session/session.h"
#include "lab/train/task.h"

namespace kappascope::train {

struct Progress {
  int64_t step = 0, steps = 0;
  double loss = 0;
  double seconds_left = 0;  ///< NaN until ten steps have been timed
  const session::Session* session = nullptr;
};

struct TrainOptions {
  /// Called about twice a second, and at the end.
  std::function<void(const Progress&)> on_progress;
  /// Set (by a signal handler, say) to stop after the current step, with a checkpoint.
  const std::atomic<bool>* stop = nullptr;
  /// The alarms after whose step it stops, with a checkpoint.
  std::set<store::AlarmId> stop_on = {};
};

struct TrainResult {
  std::string
      state;  ///< "finished", "interrupted", or "failed" when the loss became NaN or infinite
  int64_t steps = 0;                                       ///< steps taken in all
  double loss = std::numeric_limits<double>::quiet_NaN();  ///< of the last step; NaN: none was left
  std::string message{};                  ///< what happened and what to do, when not finished
  std::optional<store::AlarmId> alarm{};  ///< that stopped it
};

/// Trains `task` from session.next_step() on: forward, backward, session.step, update; test loss
/// and checkpoints in between. Closes the session. A loss that is not finite stops the run before
/// the update, with its state saved.
///
/// In a group (session.group()) each process calls it with the same task: each takes its part of
/// every batch, process 0 evaluates and writes, and a stop that one is asked for stops all. Loss
/// and weights are those of one process but for rounding, and dropout draws apart in each.
TrainResult train(Task& task, session::Session& session, const TrainOptions& options = {});

}  // namespace kappascope::train
