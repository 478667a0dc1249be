// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/studies/edge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "kappascope/core/statistics.h"
#include "lab/study/metrics.h"
#include "theory/checks/studies/judging.h"

namespace kappascope::theory {
namespace {

constexpr double kFifth = 0.2;
constexpr double kBelow = 0.9;  // of the limit: where it rises from

/// What the runs of one arm have.
struct ArmEdge {
  std::vector<double> starts, firsts, shares, within;
  std::string lacking, diverged;  ///< a run of each kind
};

ArmEdge edge_of(const StudyRuns& study, const std::string& arm) {
  ArmEdge edge;
  const auto add = [&](const study::RunEnd& run, study::MetricId name, std::vector<double>& to) {
    const auto found = run.values.find(name);
    if (found == run.values.end() || std::isnan(found->second.value)) {
      edge.lacking = fmt::format("seed {} of '{}' has no {}", run.seed, arm, name.name());
    } else {
      to.push_back(found->second.value);
    }
  };
  for (const auto& run : study.runs) {
    if (run.arm != arm) continue;
    if (run.state == "failed")
      edge.diverged = fmt::format("seed {} of '{}' diverged", run.seed, arm);
    add(run, study::metric::kEdgeStart, edge.starts);
    add(run, study::metric::kEdgeFirst, edge.firsts);
    add(run, study::metric::kEdgeShare, edge.shares);
    add(run, study::metric::kEdgeWithin, edge.within);
  }
  return edge;
}

double smallest(const std::vector<double>& values) {
  return *std::ranges::min_element(values);
}

}  // namespace

Verdict check_edge(const StudyRuns& study, const std::string& prefix) {
  Verdict verdict;
  verdict.route = "study";
  verdict.left = "sharpness over the optimiser's stability limit, " + prefix;
  verdict.right = "1, to within a fifth";
  verdict.predicted = 1;
  std::map<std::string, ArmEdge> arms;
  for (const auto& run : study.runs) {
    if (run.arm.starts_with(prefix)) arms.try_emplace(run.arm, edge_of(study, run.arm));
  }
  if (arms.empty()) {
    verdict.condition = fmt::format("{} has no arm that begins with '{}'", study.name, prefix);
    return verdict;
  }
  std::vector<double> all;
  double within = 0, least_beyond = 1;
  bool rises = true;
  std::string beyond;
  for (const auto& [arm, edge] : arms) {
    if (!edge.diverged.empty()) {
      verdict.condition = edge.diverged + ": at a rate where training does not go on, none stays";
      return verdict;
    }
    if (!edge.lacking.empty()) {
      verdict.condition = edge.lacking + ": the sharpness did not reach the limit in these steps";
      return verdict;
    }
    const auto difference =
        paired_difference(edge.shares, std::vector<double>(edge.shares.size(), 1.0));
    const double p = difference.pairs < 2 ? 1 : p_of_within(difference, kFifth);
    within = std::max(within, p);
    const double p_beyond =
        difference.pairs < 2 ? 1
                             : p_of_beyond(difference, kFifth) * static_cast<double>(arms.size());
    if (p_beyond < study::kLevel && p_beyond < least_beyond) {
      least_beyond = p_beyond;
      beyond = arm;
    }
    rises = rises && std::ranges::all_of(edge.starts, [](double start) { return start < kBelow; });
    all.insert(all.end(), edge.shares.begin(), edge.shares.end());
    verdict.condition += fmt::format(
        "{}{}: from {:.2g} of the limit to it at step {:.0f}, then {:.3f} of it in the median "
        "[{:.3f}, {:.3f}], {:.0f} % of the measurements within a fifth",
        verdict.condition.empty() ? "" : "; ",
        arm,
        median(edge.starts),
        median(edge.firsts),
        1 + difference.mean,
        1 + difference.lower,
        1 + difference.upper,
        100 * smallest(edge.within));
  }
  const auto mean = paired_difference(all, std::vector<double>(all.size(), 1.0));
  verdict.measured = 1 + mean.mean;
  if (mean.pairs >= 2 && !mean.is_same_in_all()) {
    verdict.lower = 1 + mean.lower;
    verdict.upper = 1 + mean.upper;
  }
  verdict.margin = std::abs(mean.mean);
  verdict.cases = mean.pairs;
  set_p(verdict, beyond.empty() ? within : least_beyond);
  if (!beyond.empty()) {
    verdict.outcome = Outcome::kRefuted;
    verdict.witness = beyond + " stays beyond a fifth of its limit";
  } else if (!rises) {
    verdict.outcome = Outcome::kUndecided;
    verdict.condition = "a run begins at its limit, so that nothing rises; " + verdict.condition;
  } else if (within < study::kLevel) {
    verdict.outcome = Outcome::kHoldsUnder;
  } else {
    verdict.outcome = Outcome::kTooFewRuns;
  }
  return verdict;
}

}  // namespace kappascope::theory
