// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/studies/interaction.h"

#include <algorithm>
#include <cmath>

namespace kappascope::theory {
namespace {

/// Adds an arm of that name with the differences of two others, a run each seed and condition in
/// which both are. Returns whether there is one.
bool add_effect(const StudyRuns& study,
                const std::string& metric,
                const std::string& with,
                const std::string& without,
                const std::string& name,
                StudyRuns& out) {
  bool any = false;
  for (const auto& run : study.runs) {
    if (run.arm != with) continue;
    const auto other = std::ranges::find_if(study.runs, [&](const study::RunEnd& control) {
      return control.arm == without && control.seed == run.seed &&
             control.condition == run.condition;
    });
    if (other == study.runs.end()) continue;
    const auto a = run.values.find(metric), b = other->values.find(metric);
    if (a == run.values.end() || b == other->values.end()) continue;
    auto effect = run;
    effect.arm = name;
    if (other->state == "failed") effect.state = other->state;
    effect.values[metric].value = a->second.value - b->second.value;
    out.runs.push_back(effect);
    any = true;
  }
  return any;
}

}  // namespace

Verdict check_interaction(const StudyRuns& study, const InteractionQuestion& question) {
  const auto with = question.first_name + " with " + question.second_name,
             alone = question.first_name + " alone";
  StudyRuns effects{study.name, {}};
  const bool both =
      add_effect(study, question.metric, question.both, question.second, with, effects);
  const bool neither =
      add_effect(study, question.metric, question.first, question.neither, alone, effects);
  if (!both || !neither) {
    Verdict verdict;
    verdict.route = "study";
    verdict.condition = study.name + " has no seed with all of '" + question.both + "', '" +
                        question.first + "', '" + question.second + "' and '" + question.neither +
                        "'";
    return verdict;
  }
  return check_direction(effects,
                         {.claimed = {{question.metric, with, alone, question.expected}},
                          .matters = question.matters});
}

}  // namespace kappascope::theory
