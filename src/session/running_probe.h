// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "kappascope/session/probe.h"
#include "kappascope/session/schedule.h"
#include "kappascope/session/session.h"

namespace kappascope::session {

/// The place of each layer in the order in which they first passed; in a group, in process 0.
using LayerPlaces = std::map<std::string, std::int64_t>;

/// A probe at work: its schedule, its budget, and the window that is open. Where a window of all
/// layers would take too much at once, the layers take turns: window i looks at those whose place
/// is i modulo the number of parts.
class RunningProbe {
 public:
  explicit RunningProbe(ScheduledProbe scheduled);

  [[nodiscard]] Probe& probe() const { return *probe_; }
  [[nodiscard]] const Schedule& schedule() const { return schedule_; }
  [[nodiscard]] double spent() const { return budget_.spent(); }

  /// The parts that the layers are to be looked at in from the window that opens now; 0: it is left
  /// out. One cycle of parts ends before their number changes.
  [[nodiscard]] std::int64_t affordable(const Progress& progress, std::int64_t layers) const;
  /// Opens a window, or leaves it out (`parts` = 0).
  void open(std::int64_t parts);
  /// Whether a window is open and looks at this step.
  [[nodiscard]] bool observes(std::int64_t step) const;
  /// Whether it ends there.
  [[nodiscard]] bool emits(std::int64_t step) const;
  void observe(const StepView& view, const LayerPlaces& places);
  /// Ends the window. `group`: null for this process alone.
  void emit(const Progress& progress, tensor::Group* group, store::Snapshot& out);

  /// Of the window that is open, and of the probe.
  [[nodiscard]] tensor::State state() const;
  void load(const tensor::State& state);

 private:
  std::unique_ptr<Probe> probe_;
  Schedule schedule_;
  Budget budget_;
  bool in_window_ = false;
  std::int64_t parts_ = 1, turn_ = 0;  // of the open window, or the last one
};

}  // namespace kappascope::session
