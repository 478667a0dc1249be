// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kappascope/session/session.h"
#include "session/failures.h"
#include "session/known_layers.h"
#include "session/running_probe.h"

namespace kappascope::session {

class RunRecord;

/// The probes of a session. In a group process 0 decides which windows open, and at the end of a
/// window receives what the others measured.
class ProbeSet {
 public:
  /// `widths`, `device`: as SessionOptions.
  ProbeSet(std::vector<ScheduledProbe> probes,
           const std::vector<std::int64_t>& widths,
           std::optional<c10::Device> device,
           std::shared_ptr<tensor::Group> group);

  /// Opens the windows that begin at this step and that the budget pays for. Returns an event for
  /// whatever the budget changes, once for each probe. Collective.
  std::vector<store::Event> grant_windows(const Progress& now);
  [[nodiscard]] Needs needs(std::int64_t step) const;
  /// Whether emit() or the next grant_windows() will be collective.
  [[nodiscard]] bool meets(std::int64_t step) const;
  /// From now on no window opens.
  void leave_group();
  void close_windows();

  /// Shows a step to the probes that observe it; where they could not be collected,
  /// `failed` says why.
  void observe(const StepView& view, const Failures& failed);
  /// Ends the windows that end at this step and adds their results. Returns whether there were any.
  /// Collective. `record`: has the events of a process that writes no run.
  bool emit(const Progress& now, RunRecord& record, store::Snapshot& out);
  /// Adds the rows of a step, of all processes, as the steps had them that were observed since the
  /// last call; of each layer where these differ.
  void add_rows(store::Snapshot& out);
  /// Adds the share of `training` seconds that each probe has taken.
  void add_costs(double training, store::Snapshot& out) const;
  /// Why no window was measured up to this step; empty where one was, or there is no probe.
  [[nodiscard]] std::string why_nothing_measured(const Progress& now) const;

  /// Adds the state of each probe under its name.
  void add_state(tensor::State& out) const;
  /// Of those that the state has; another one begins here.
  void load(const tensor::State& state);

 private:
  [[nodiscard]] bool writes() const;
  void collect(std::ptrdiff_t first_scalar, RunRecord& record, store::Snapshot& out);

  std::vector<RunningProbe> probes_;
  KnownLayers known_;
  std::map<std::string, std::int64_t> rows_;  // of the observed steps, by layer
  std::int64_t steps_ = 0;                    // so many
  std::shared_ptr<tensor::Group> group_;
  bool left_ = false;
  std::set<std::string> reported_;  // of what the budget changes
};

}  // namespace kappascope::session
