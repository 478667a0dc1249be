// SPDX-License-Identifier: Apache-2.0
// The alarms on the axis of steps.
#include "kappascope/store/schema/alarms.h"

#include <fmt/format.h>

#include "reports/figures/builders.h"

namespace kappascope::reports {

std::vector<StepMark> alarm_marks(const std::vector<Arm>& arms) {
  std::vector<StepMark> marks;
  for (std::size_t a = 0; a < arms.size(); ++a) {
    std::map<std::int64_t, std::string> by_step;
    for (const auto& [step, time, event] : arms[a].events) {
      const auto alarm = store::alarm_of_kind(event.kind);
      if (!alarm) continue;
      auto& label = by_step[step];
      label += fmt::format(
          "{}alarm {}: {}", label.empty() ? "" : "; ", store::info_of(*alarm).name, event.message);
    }
    for (const auto& [step, label] : by_step)
      marks.push_back({.arm = a, .x = static_cast<double>(step), .label = label});
  }
  return marks;
}

}  // namespace kappascope::reports
