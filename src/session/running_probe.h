// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "core/time.h"
#include "kappascope/session/probe.h"
#include "kappascope/session/schedule.h"
#include "kappascope/session/session.h"
#include "session/failures.h"
#include "session/known_layers.h"

namespace kappascope::session {

using LayerNames = std::set<std::string>;

/// A name a line, and back.
std::string lines_of(const LayerNames& names);
LayerNames names_in(const std::string& lines);

/// What is decided of a window before it opens.
struct Grant {
  bool open = true;  ///< false: the window is left out
  /// Those that it looks at. Nothing: all; none: the one that passes first.
  std::optional<LayerNames> layers = {};
  std::int64_t next = 0;  ///< the place of the layer whose turn is after them
};

/// A probe at work: its schedule, its budget, and the window that is open. Within a budget the
/// first window looks at one layer, or at all where that is presumed to be paid for, and says what
/// a layer does cost; from then on the layers take turns, as many at a time as the budget allows.
/// No window opens before training has paid for what it is presumed to cost.
///
/// A window that fails, in observe() or in emit(), is left out, in all processes of a group.
class RunningProbe {
 public:
  /// `speed`: of the layers' device, relative to that of Probe::presumed_cost(). `clock`: seconds,
  /// by which the probe's time is taken.
  explicit RunningProbe(ScheduledProbe scheduled,
                        double speed = 1,
                        std::function<double()> clock = monotonic_seconds);

  [[nodiscard]] Probe& probe() const { return *probe_; }
  [[nodiscard]] const Schedule& schedule() const { return schedule_; }
  [[nodiscard]] double spent() const { return budget_.spent(); }
  /// Whether a window has closed.
  [[nodiscard]] bool has_measured() const { return measured_; }

  [[nodiscard]] bool opens_window(std::int64_t step) const;
  /// What may be looked at in the window that opens now.
  [[nodiscard]] Grant affordable(const Progress& progress, const KnownLayers& known) const;
  /// Why a window is left out or takes a part of the layers, and what setting would change it.
  [[nodiscard]] std::string budget_in_words(const Progress& progress,
                                            const KnownLayers& known) const;
  void open(Grant grant);
  /// Whether a window is open and looks at this step.
  [[nodiscard]] bool observes(std::int64_t step) const;
  /// Whether it ends there.
  [[nodiscard]] bool emits(std::int64_t step) const;
  void observe(const StepView& view);
  /// What the window would have been shown could not be collected.
  void fail(const Failures& why);
  /// Ends the window. `group`: null for this process alone.
  void emit(const Progress& progress, tensor::Group* group, store::Snapshot& out);

  /// Of the window that is open, and of the probe.
  [[nodiscard]] tensor::State state() const;
  void load(const tensor::State& state);

 private:
  [[nodiscard]] bool by_layers() const;
  [[nodiscard]] double presumed_cost() const;
  [[nodiscard]] Progress with_ahead(Progress progress) const;
  void measure(const Progress& progress, tensor::Group* group, store::Snapshot& out);

  std::unique_ptr<Probe> probe_;
  double speed_;
  std::string budget_setting_;
  double budget_part_;
  Schedule schedule_;
  std::function<double()> clock_;
  Budget budget_;
  bool in_window_ = false;
  std::optional<LayerNames> turn_;       // Grant::layers of the open window
  std::int64_t next_ = 0;                // Grant::next
  std::map<std::string, double> shown_;  // the work of each layer that the open window was shown
  bool measured_ = false;                // a window has closed
  tensor::State begin_;                  // of the probe, before the open window
  Failures failures_;                    // of the open window
};

}  // namespace kappascope::session
