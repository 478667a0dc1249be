// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/studies/pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "theory/checks/studies/contrasts.h"

namespace kappascope::theory {

ArmPairs compare_arms(const StudyRuns& study, const Contrast& contrast) {
  StudyRuns two{study.name, {}};
  for (const auto& run : study.runs) {
    const bool asked = run.arm == contrast.arm || run.arm == contrast.control;
    if (asked && run.condition.find(contrast.condition) != std::string::npos)
      two.runs.push_back(run);
  }
  for (const auto& arm : {contrast.arm, contrast.control}) {
    if (std::ranges::find(two.runs, arm, &study::RunEnd::arm) == two.runs.end()) {
      const auto where = contrast.condition.empty() ? "" : " under " + contrast.condition;
      return {{}, fmt::format("{} has no arm '{}'{}", study.name, arm, where)};
    }
  }
  const bool recorded = std::ranges::all_of(two.runs, [&](const study::RunEnd& run) {
    return run.state == "failed" || run.values.contains(contrast.metric);
  });
  if (!recorded)
    return {{}, fmt::format("{} has not recorded {} in every run", study.name, contrast.metric)};
  return {study::compare_runs(two.runs, contrast.control, {contrast.metric}), ""};
}

std::string describe(const study::Comparison& c) {
  const auto& d = c.difference;
  auto text = fmt::format("{}{} of {} against {}",
                          c.metric,
                          c.condition.empty() ? "" : " (" + c.condition + ")",
                          c.arm,
                          c.control);
  if (d.pairs == 0) return text + ": no pair of usable values";
  text += fmt::format(" {:+.3g}", d.mean);
  if (d.is_same_in_all()) {
    text += " in every pair";
  } else if (d.pairs >= 2) {
    text += fmt::format(" [{:+.3g}, {:+.3g}]", d.lower, d.upper);
  }
  text += fmt::format(
      " from {:.4g}, {} {}", c.control_median, d.pairs, d.pairs == 1 ? "pair" : "pairs");
  if (!std::isnan(c.corrected_p)) text += fmt::format(", p {:.2g}", c.corrected_p);
  if (d.left_out > 0) text += fmt::format(" ({} pairs left out)", d.left_out);
  return text;
}

}  // namespace kappascope::theory
