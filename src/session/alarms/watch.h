// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "kappascope/session/alarms.h"
#include "kappascope/store/record.h"
#include "kappascope/tensor/state.h"

namespace kappascope::session {

class Rule;

/// How the store keeps it.
store::Event event_of(const Alarm& alarm);

/// The rules at work: given everything that is written of a run, step by step, it says which alarms
/// each step raises. The same on a stored run as while it trains. An alarm is raised when its
/// condition begins to hold, and again only once it has ceased to, or has grown.
class AlarmsWatch {
 public:
  explicit AlarmsWatch(const AlarmOptions& options = {});
  ~AlarmsWatch();
  AlarmsWatch(AlarmsWatch&&) noexcept;
  AlarmsWatch& operator=(AlarmsWatch&&) noexcept;

  /// What was written of one step; a step may come in parts. Cost: a search of its few numbers for
  /// each rule.
  std::vector<Alarm> evaluate(const store::Snapshot& snapshot);

  /// What the rules remember, so that a resumed run raises the same alarms.
  [[nodiscard]] tensor::State state() const;
  void load(const tensor::State& state);

 private:
  std::vector<std::unique_ptr<Rule>> rules_;
  std::deque<Alarm> recent_;  // what came before the next one
};

}  // namespace kappascope::session
