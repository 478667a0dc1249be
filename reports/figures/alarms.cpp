// SPDX-License-Identifier: Apache-2.0
// Alarms, and a loss that is no number, on the axis of steps.
#include "kappascope/store/schema/alarms.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "reports/figures/builders.h"

namespace kappascope::reports {

std::vector<StepMark> event_marks(const std::vector<Arm>& arms) {
  std::vector<StepMark> marks;
  for (std::size_t a = 0; a < arms.size(); ++a) {
    std::map<std::int64_t, StepMark> by_step;
    for (const auto& [step, time, event] : arms[a].events) {
      const auto alarm = store::alarm_of_kind(event.kind);
      const bool lost = event.kind == "nan_loss";
      if (!alarm && !lost) continue;
      auto& mark = by_step[step];
      mark.arm = a;
      mark.x = static_cast<double>(step);
      mark.non_finite |= lost || *alarm == store::AlarmId::kNonFinite;
      if (!mark.label.empty()) mark.label += "; ";
      if (alarm) mark.alarms.emplace(store::info_of(*alarm).name);
      mark.label += lost ? event.message
                         : fmt::format("alarm {}: {}", store::info_of(*alarm).name, event.message);
    }
    for (auto& [step, mark] : by_step) marks.push_back(std::move(mark));
  }
  return marks;
}

}  // namespace kappascope::reports
