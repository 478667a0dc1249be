// SPDX-License-Identifier: Apache-2.0
// How far can the other answers be trusted?
#include <fmt/format.h>

#include <algorithm>

#include "reports/runs/groups.h"
#include "reports/summary/answers.h"

namespace kappascope::reports {

Answer trust(const std::vector<Arm>& arms) {
  const auto found = diagnose_trust(arms);
  Answer out{.id = "trust",
             .question = "How far to trust this",
             .answer = found.all == 0                 ? "nothing measured yet"
                       : found.grade == Grade::kGood  ? "as far as the intervals say"
                       : found.grade == Grade::kWatch ? "some estimates unresolved"
                                                      : "most estimates unresolved",
             .grade = found.grade,
             .figure = "estimates"};
  if (found.all > 0) {
    out.why = fmt::format("{} of {} {} at the end are resolved{}. ",
                          found.resolved,
                          found.all,
                          found.by_steps ? "learning times" : "condition numbers",
                          found.resolved < found.all ? "; the others are drawn hollow" : "");
  }
  if (found.damaged > 0) {
    out.why += fmt::format("{} left out: `kappascope check` lists them. ",
                           counted(found.damaged, "damaged value"));
  }
  const bool seeds = std::ranges::all_of(arms, [](const Arm& arm) { return arm.seeds > 1; });
  if (arms.size() == 1) {
    out.why += seeds ? "One arm: nothing to compare with." : "One run: another seed may differ.";
  } else {
    out.why += fmt::format(
        "Differences between arms: {}; {}.",
        seeds ? "not by their medians alone" : "one run per arm cannot separate them from chance",
        how_to_be_surer(arms));
  }
  return out;
}

}  // namespace kappascope::reports
