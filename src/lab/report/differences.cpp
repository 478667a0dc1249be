// SPDX-License-Identifier: Apache-2.0
// What the arms differ by, in words.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "lab/report/builders.h"
#include "reports/number_format.h"

namespace kappascope::reports {
namespace {

using study::Comparison;

/// A reader takes in no more.
constexpr std::size_t kMost = 8;

bool too_few(const Comparison& c) {
  return c.difference.pairs < 2;
}

/// One arm against the control in one metric, under all conditions.
struct Group {
  std::string metric{}, arm{};
  std::vector<const Comparison*> lower{}, higher{}, alike{};

  /// The largest difference of those told apart; nullptr for none.
  [[nodiscard]] const Comparison* largest() const {
    const Comparison* found = nullptr;
    for (const auto* side : {&lower, &higher}) {
      for (const auto* c : *side) {
        if (found == nullptr || std::abs(c->difference.mean) > std::abs(found->difference.mean))
          found = c;
      }
    }
    return found;
  }
};

std::vector<Group> groups_of(const StudyView& study) {
  std::vector<Group> groups;
  for (const auto& metric : study.metrics) {
    for (const auto& arm : study.arms) {
      Group group{.metric = metric, .arm = arm};
      for (const auto& c : study.comparisons) {
        if (c.metric != metric || c.arm != arm) continue;
        auto& side = !c.is_significant()     ? group.alike
                     : c.difference.mean < 0 ? group.lower
                                             : group.higher;
        side.push_back(&c);
      }
      if (group.lower.size() + group.higher.size() + group.alike.size() > 0)
        groups.push_back(std::move(group));
    }
  }
  return groups;
}

/// "0.02", "0.02 to 0.05": between the smallest and the largest.
std::string span_of(const std::vector<double>& values) {
  const auto [low, high] = std::ranges::minmax(values);
  return decimals(low) == decimals(high) ? decimals(low) : decimals(low) + " to " + decimals(high);
}

/// Why these comparisons are not significant, and what would have been.
std::string why_alike(const std::vector<const Comparison*>& comparisons) {
  std::size_t few = 0;
  std::size_t same = 0;
  std::size_t equal = 0;
  std::vector<double> detectable;
  for (const auto* c : comparisons) {
    if (too_few(*c)) {
      ++few;
    } else if (std::isnan(c->corrected_p)) {
      ++same;
    } else if (c->difference.is_same_in_all()) {
      ++equal;
    } else {
      detectable.push_back(c->difference.detectable);
    }
  }
  std::vector<std::string> parts;
  if (!detectable.empty()) {
    parts.push_back(fmt::format("Would have found a difference of {}", span_of(detectable)));
  }
  if (few > 0)
    parts.push_back(fmt::format("{} of fewer than two pairs of seeds", counted(few, "comparison")));
  if (same > 0)
    parts.push_back(fmt::format("{} with the same difference in every pair, which gives no error",
                                counted(same, "comparison")));
  if (equal > 0) parts.push_back(counted(equal, "comparison") + " equal in every pair");
  return listed(parts) + ".";
}

/// Smaller than 0.001 is as good as certain; the table has the number.
std::string chance(double p) {
  return p < 0.001 ? "p < 0.001" : "p = " + decimals(p);
}

std::string how_sure(const Comparison& c) {
  std::string text = fmt::format("95 %: {} to {}, {} of seeds, {} (Holm)",
                                 decimals(c.difference.lower),
                                 decimals(c.difference.upper),
                                 counted(static_cast<std::size_t>(c.difference.pairs), "pair"),
                                 chance(c.corrected_p));
  if (c.difference.left_out > 0)
    text += fmt::format("; {} left out",
                        counted(static_cast<std::size_t>(c.difference.left_out), "pair"));
  return text + ".";
}

/// An arm that differs significantly under one condition at least.
Finding separated(const Group& group, const StudyView& study) {
  const Comparison& most = *group.largest();
  const auto& side = most.difference.mean < 0 ? group.lower : group.higher;
  const auto& other = most.difference.mean < 0 ? group.higher : group.lower;
  const std::size_t all = side.size() + other.size() + group.alike.size();
  Finding finding{"told_apart", "", how_sure(most), false, "Significant"};
  finding.text = fmt::format("{}: {} {} than {}",
                             group.arm,
                             most.difference.mean < 0 ? "lower" : "higher",
                             group.metric,
                             study.control);
  if (all > 1) finding.text += fmt::format(" under {} of {} conditions", side.size(), all);
  finding.text += fmt::format(", by {}{} (medians {} and {}{}).",
                              side.size() > 1 ? "up to " : "",
                              decimals(std::abs(most.difference.mean)),
                              decimals(most.arm_median),
                              decimals(most.control_median),
                              all > 1 ? ", " + most.condition : "");
  if (all > 1) finding.certainty = "There " + finding.certainty;
  if (!other.empty())
    finding.certainty +=
        fmt::format(" {} under {}.", most.difference.mean < 0 ? "Higher" : "Lower", other.size());
  if (!group.alike.empty())
    finding.certainty +=
        fmt::format(" Not significant under {}. {}", group.alike.size(), why_alike(group.alike));
  return finding;
}

}  // namespace

void find_differences(const StudyView& study, std::vector<Finding>& out) {
  if (std::ranges::all_of(study.comparisons, too_few)) {
    out.push_back({"too_few_pairs",
                   "No difference can be tested: no comparison has two pairs of seeds.",
                   "What differs below may be chance.",
                   true,
                   "Not significant"});
    return;
  }
  auto groups = groups_of(study);
  std::vector<const Group*> apart;
  for (const Group& group : groups) {
    if (group.largest() != nullptr) apart.push_back(&group);
  }
  std::ranges::stable_sort(apart, std::greater(), [](const Group* group) {
    return std::abs(group->largest()->difference.effect);
  });
  for (std::size_t i = 0; i < std::min(kMost, apart.size()); ++i)
    out.push_back(separated(*apart[i], study));
  if (apart.size() > kMost) {
    out.push_back(
        {"told_apart_more",
         fmt::format("{} more are significant, with smaller effects.", apart.size() - kMost),
         "All are in the table of comparisons below.",
         false,
         "Significant"});
  }
  for (const auto& metric : study.metrics) {
    std::vector<std::string> arms;
    std::vector<const Comparison*> all;
    for (const Group& group : groups) {
      if (group.metric != metric || group.largest() != nullptr) continue;
      arms.push_back(group.arm);
      all.insert(all.end(), group.alike.begin(), group.alike.end());
    }
    if (arms.empty()) continue;
    std::string text = fmt::format("{}: {} {} not significantly different from {}",
                                   metric,
                                   listed(arms),
                                   arms.size() == 1 ? "is" : "are",
                                   study.control);
    if (study.conditions.size() > 1) text += " under any condition";
    out.push_back({"not_told_apart", text + ".", why_alike(all), false, "Not significant"});
  }
}

}  // namespace kappascope::reports
