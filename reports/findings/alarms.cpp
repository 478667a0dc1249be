// SPDX-License-Identifier: Apache-2.0
// The alarms that a run raised.
#include "kappascope/store/schema/alarms.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/findings/rules.h"
#include "reports/runs/groups.h"

namespace kappascope::reports {
namespace {

/// What an alarm of this kind is worth, where the reader has to know.
std::string worth(const store::AlarmInfo& info) {
  return info.role == store::AlarmRole::kEarlyWarning
             ? "On stored trainings it came before spikes of the loss more often than the plain "
               "rules did (experiments/ALARMS.md)."
             : "A description, not a warning: it has not been shown to come before spikes of the "
               "loss "
               "more often than the plain rules do (experiments/ALARMS.md).";
}

}  // namespace

void find_alarms(const std::vector<Arm>& arms, Findings& out) {
  for (const Arm* run : runs_of(arms)) {
    const Arm& arm = *run;
    for (const auto& info : store::alarms()) {
      const auto is_of = [&](const store::StepEvent& event) {
        return store::alarm_of_kind(event.event.kind) == info.id;
      };
      const auto first = std::ranges::find_if(arm.events, is_of);
      if (first == arm.events.end()) continue;
      const auto count = std::ranges::count_if(arm.events, is_of);
      out.push_back({"alarm",
                     fmt::format("{}: alarm {} {}at step {} ({}).",
                                 arm.label,
                                 info.name,
                                 count > 1 ? fmt::format("{} times, first ", count) : "",
                                 first->step,
                                 info.meaning),
                     fmt::format("The first: {}. {}", first->event.message, worth(info)),
                     info.id == store::AlarmId::kNonFinite});
    }
  }
}

}  // namespace kappascope::reports
