// SPDX-License-Identifier: Apache-2.0
// What the training did: trouble, the loss, what probing cost.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "reports/diagnosis/questions.h"
#include "reports/figures/builders.h"
#include "reports/findings/rules.h"
#include "reports/findings/wording.h"
#include "reports/runs/groups.h"
#include "reports/summary.h"

namespace kappascope::reports {
namespace {

/// The last κ of the W_d block at or before `step`, layer by layer.
std::string kappa_before(const Arm& arm, std::int64_t step) {
  std::vector<std::string> parts;
  std::int64_t at = -1;
  for (const auto& layer : layers_of(arm, id::kKappas)) {
    std::optional<store::StepValue> before;
    for (const auto& point : arm.series(block_kappa(arm, layer), layer)) {
      if (point.step <= step && !std::isnan(point.scalar.value)) before = point;
    }
    if (!before) continue;
    at = std::max(at, before->step);
    parts.push_back(words(before->scalar.value) + " in " + layer);
  }
  if (parts.empty()) return "No condition number was measured before it.";
  return fmt::format("κ of the W_d block before it (step {}): {}.", at, listed(parts));
}

/// κ of each layer before and after a spike of the loss: a description, not a cause.
std::string kappa_across(const Arm& arm, std::int64_t begin, std::int64_t end) {
  std::vector<std::string> parts;
  for (const auto& layer : layers_of(arm, id::kKappas)) {
    std::optional<store::StepValue> before;
    std::optional<store::StepValue> after;
    for (const auto& point : arm.series(block_kappa(arm, layer), layer)) {
      if (!is_resolved(point.scalar)) continue;
      if (point.step < begin) before = point;
      if (point.step >= end && !after) after = point;
    }
    if (!before || !after) continue;
    parts.push_back(fmt::format("{} to {} in {} (steps {} and {})",
                                words(before->scalar.value),
                                words(after->scalar.value),
                                layer,
                                before->step,
                                after->step));
  }
  if (parts.empty()) return "No condition number is resolved on both sides of it.";
  return fmt::format("Across it κ of the W_d block went from {}.", listed(parts));
}

/// How far the last few test losses of an arm lie apart: a yardstick for a difference.
double recent_spread(const Arm& arm) {
  const auto& losses = arm.series(id::kLossTest).values();
  if (losses.size() < 5) return std::numeric_limits<double>::quiet_NaN();
  const auto [low, high] = std::minmax_element(losses.end() - 5, losses.end());
  return *high - *low;
}

/// How sure a difference of the last test losses of two arms is.
std::string certainty_of(const std::array<const Arm*, 2>& arms,
                         const store::StepValue& a,
                         const store::StepValue& b) {
  if (arms[0]->seeds < 2 || arms[1]->seeds < 2)
    return "One seed per arm: the difference may be chance.";
  const auto by_seed = loss_by_seed(*arms[1], *arms[0]);
  return fmt::format("Medians; {} in {} and {} in {}. {}",
                     interval(a.scalar),
                     arms[0]->label,
                     interval(b.scalar),
                     arms[1]->label,
                     by_seed.empty() ? std::string(kComparePairs) + "." : by_seed);
}

/// What probes could not measure, a finding a kind of reason.
void missing_windows_of(const Arm& arm, Findings& out) {
  const std::array<std::pair<const char*, const char*>, 6> kinds = {{
      {"nothing_measured", "nothing was measured"},
      {"probe_skipped", "a probe was skipped"},
      {"probe_failed", "a probe failed"},
      {"hessian_failed", "the Hessian spectrum could not be computed"},
      {"hessian_stopped", "the Hessian spectrum was stopped"},
      {"hessian_budget", "the budget cut or put off the Hessian spectrum"},
  }};
  for (const auto& [kind, what] : kinds) {
    const store::StepEvent* first = nullptr;
    std::size_t later = 0;
    for (const auto& event : arm.events) {
      if (event.event.kind != kind) continue;
      if (first == nullptr) {
        first = &event;
      } else {
        ++later;
      }
    }
    if (first == nullptr) continue;
    out.push_back({kind,
                   fmt::format("{}: {} at step {}{}.",
                               arm.label,
                               what,
                               first->step,
                               later == 0   ? ""
                               : later == 1 ? " and once later"
                                            : fmt::format(" and {} times later", later)),
                   first->event.message,
                   true});
  }
}

}  // namespace

void find_missing_windows(const std::vector<Arm>& arms, Findings& out) {
  for (const Arm* run : runs_of(arms)) missing_windows_of(*run, out);
}

void find_trouble(const std::vector<Arm>& arms, Findings& out) {
  for (const Arm* run : runs_of(arms)) {
    const Arm& arm = *run;
    if (!arm.damaged.empty()) {
      out.push_back(
          {"damaged",
           fmt::format("{}: {} stored {} damaged and left out.",
                       arm.label,
                       arm.damaged.size(),
                       arm.damaged.size() == 1 ? "value is" : "values are"),
           fmt::format("The first is {}. `kappascope check` lists them.", arm.damaged.front()),
           true});
    }
    for (const auto& [step, time, event] : arm.events) {
      if (event.kind == "nan_loss") {
        out.push_back(
            {"nan_loss",
             fmt::format("{}: the loss became NaN or infinite at step {}.", arm.label, step),
             kappa_before(arm, step),
             true});
      }
    }
    if (arm.state != "finished") {
      const std::string meaning = arm.state == "running"       ? "is still running"
                                  : arm.state == "interrupted" ? "was interrupted"
                                  : arm.state == "failed"      ? "failed"
                                                               : "ended without saying so";
      out.push_back(
          {"unfinished",
           fmt::format("{} {}: {} steps are stored.", arm.label, meaning, arm.last_step + 1),
           "Everything below is what was stored until then.",
           arm.state != "running"});
    }
  }
}

void find_loss(const std::vector<Arm>& arms, Findings& out) {
  std::map<std::string, const Arm*> bases;  // the first arm of each condition
  for (const Arm& arm : arms) {
    const auto point = arm.last(id::kLossTest);
    if (!point) continue;
    const Arm*& base = bases[arm.fact("condition")];
    if (base == nullptr) {
      base = &arm;
      if (arms.size() == 1) {
        out.push_back({"test_loss",
                       fmt::format("{}: test loss {} at step {}.",
                                   arm.label,
                                   words(point->scalar.value),
                                   point->step),
                       "One run: nothing to compare with.",
                       false});
      }
      continue;
    }
    if (!same_problem(*base, arm)) {
      out.push_back({"test_loss",
                     fmt::format("{} was trained on another problem than {}: their losses are not "
                                 "compared.",
                                 arm.label,
                                 base->label),
                     "",
                     false});
      continue;
    }
    const auto reference = base->last(id::kLossTest);
    const auto told = as_difference(point->scalar.value, reference->scalar.value);
    Finding finding{"test_loss", "", certainty_of({base, &arm}, *reference, *point), false};
    finding.text =
        fmt::format("Test loss at the end: {} {}, {} {}", arm.label, told.a, base->label, told.b);
    if (point->step != reference->step) {
      finding.text += fmt::format(" (steps {} and {})", point->step, reference->step);
    }
    finding.text += told.relation == "equal" ? ": equal."
                                             : fmt::format(": {} is {}.", arm.label, told.relation);
    const double spread = recent_spread(*base);
    if (std::isfinite(spread) && base->seeds < 2) {
      finding.certainty += fmt::format(
          " For scale: they differ by {}, and the last five evaluations of {} alone span {}.",
          told.apart,
          base->label,
          words(spread));
    }
    out.push_back(std::move(finding));
  }
}

void find_spike_findings(const std::vector<Arm>& arms, Findings& out) {
  for (const Arm* run : runs_of(arms)) {
    const Arm& arm = *run;
    const auto& losses = arm.series(id::kLossTrain);
    const auto& spikes = arm.spikes;
    if (spikes.empty()) continue;
    const auto highest = std::ranges::max_element(
        spikes, std::ranges::less{}, [](const Spike& s) { return s.peak; });
    const auto begin = losses[highest->begin].step;
    const auto end = losses[std::min(highest->begin + highest->length, losses.size() - 1)].step;
    out.push_back(
        {"spikes",
         fmt::format("{}: {} of the training loss, the highest at step {} ({} where {} is "
                     "usual).",
                     arm.label,
                     counted(spikes.size(), "spike"),
                     begin,
                     words(highest->peak),
                     words(highest->usual)),
         kappa_across(arm, begin, end),
         !diagnose_rate(arm).spikes.empty()});
  }
}

void find_cost(const std::vector<Arm>& arms, Findings& out) {
  for (const Arm* run : runs_of(arms)) {
    const Arm& arm = *run;
    const auto found = diagnose_cost(arm);
    if (!found.value) continue;
    const Costs* costs = &found.costs;
    std::vector<std::string> parts;
    parts.reserve(costs->probes.size() + 1);
    double named = 0;
    for (const auto& cost : costs->probes) {
      parts.push_back(cost.probe + " " + percent(cost.share));
      named += cost.share;
    }
    // What belongs to no probe.
    if (!parts.empty() && costs->total - named > 5e-5)
      parts.push_back("hooks and storing " + percent(costs->total - named));
    std::string certainty = parts.empty() ? "Measured by the run itself." : listed(parts) + ".";
    if (const auto seconds = arm.last(id::kStepSeconds))
      certainty += fmt::format(" Without the probes a step took {} s at the end.",
                               words(seconds->scalar.value));
    if (costs->all_unlimited())
      certainty += " The run measured without a time limit (probes.budget = 0).";
    out.push_back(
        {"cost",
         fmt::format("{}: probing took {} of the training time.", arm.label, percent(costs->total)),
         certainty,
         found.grade >= Grade::kWatch});
  }
}

}  // namespace kappascope::reports
