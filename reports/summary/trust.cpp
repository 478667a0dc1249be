// SPDX-License-Identifier: Apache-2.0
// How far can the other answers be trusted?
#include <fmt/format.h>

#include <algorithm>

#include "reports/runs/groups.h"
#include "reports/summary/answers.h"

namespace kappascope::reports {

namespace {

bool is_kappa(const std::string& name) {
  return id::kKappas.contains(name) && name != id::kKappaMeanCosts && name != id::kKappaBiasLeaves;
}

bool is_steps(const std::string& name) {
  return id::kLearning.contains(name) && name != id::kLearningMeanCosts &&
         name != id::kLearningBiasLeaves && name != id::kLearningBiasChanges;
}

}  // namespace

Answer trust(const std::vector<Arm>& arms) {
  Answer out{.id = "trust", .question = "How far to trust this", .figure = "estimates"};
  // By what the other answers rest on: learning times where there are any.
  const bool by_steps =
      std::ranges::any_of(arms, [](const Arm& arm) { return arm.has(id::kLearning); });
  std::size_t all = 0;
  std::size_t resolved = 0;
  std::size_t damaged = 0;
  for (const Arm& arm : arms) {
    damaged += arm.damaged.size();
    for (const auto& [key, points] : arm.scalars) {
      if (by_steps ? !is_steps(key.name) : !is_kappa(key.name)) continue;
      // A learning time that is not known has no number, and counts all the same.
      const auto* point =
          by_steps ? arm.newest(key.name, key.layer) : arm.last(key.name, key.layer);
      if (point == nullptr) continue;
      ++all;
      resolved += is_resolved(point->scalar) ? 1U : 0U;
    }
  }
  const double share = all == 0 ? 0 : static_cast<double>(resolved) / static_cast<double>(all);
  out.grade = all == 0 || share < 0.5      ? Grade::kOpen
              : share < 0.9 || damaged > 0 ? Grade::kWatch
                                           : Grade::kGood;
  if (all > 0) {
    out.why = fmt::format("{} of {} {} at the end are resolved{}. ",
                          resolved,
                          all,
                          by_steps ? "learning times" : "condition numbers",
                          resolved < all ? "; the others are drawn hollow" : "");
  }
  if (damaged > 0) {
    out.why += fmt::format("{} left out: `kappascope check` lists them. ",
                           counted(damaged, "damaged value"));
  }
  const bool seeds = std::ranges::all_of(arms, [](const Arm& arm) { return arm.seeds > 1; });
  if (arms.size() == 1) {
    out.why += seeds ? "One arm: nothing to compare with." : "One run: another seed may differ.";
  } else {
    out.why += fmt::format(
        "Differences between arms: {}; {}.",
        seeds ? "not by their medians alone" : "not at all, as one run an arm may be luck",
        how_to_be_surer(arms));
  }
  out.answer = all == 0                     ? "nothing measured yet"
               : out.grade == Grade::kGood  ? "as far as the intervals say"
               : out.grade == Grade::kWatch ? "some numbers not at all"
                                            : "most numbers not at all";
  return out;
}

}  // namespace kappascope::reports
