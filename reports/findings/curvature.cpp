// SPDX-License-Identifier: Apache-2.0
// What the gradients and the Hessian say.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "reports/findings/rules.h"
#include "reports/findings/wording.h"
#include "reports/runs/groups.h"

namespace kappascope::reports {
namespace {

std::string bound_of(const store::Scalar& scalar) {
  if (!scalar.lower || !scalar.upper) return "No error bound was recorded.";
  const auto lower = words(*scalar.lower), upper = words(*scalar.upper);
  const double error = std::max(scalar.value - *scalar.lower, *scalar.upper - scalar.value);
  return fmt::format("Residual bound: {}{}.",
                     lower == upper ? "± " + words(error) : lower + " to " + upper,
                     is_resolved(scalar) ? "" : ", not converged (" + status_text(scalar) + ")");
}

/// An eigenvalue whose bounds hold zero, or a value of twice its size.
bool is_unknown(const store::Scalar& scalar) {
  if (!scalar.lower || !scalar.upper) return false;
  return *scalar.lower <= 0 ? *scalar.upper >= 0 : *scalar.upper > 2 * std::abs(scalar.value);
}

/// What the top eigenvalues carry of the trace, where both were measured at the same step.
void add_share_of_trace(const Arm& arm, Finding& finding) {
  const auto trace = arm.last(id::kHessianTrace);
  if (!trace || !(trace->scalar.value > 0)) return;
  double sum = 0;
  int count = 0;
  while (const auto point = arm.last(id::kHessianLambda.at(count + 1))) {
    if (point->step != trace->step) return;
    sum += point->scalar.value;
    ++count;
  }
  if (count == 0) return;
  // More than all of it: negative eigenvalues cancel the rest.
  if (count == 1 && sum <= trace->scalar.value) {
    finding.text += fmt::format(" The largest eigenvalue is {} of the trace.",
                                percent(sum / trace->scalar.value));
  } else {
    finding.text +=
        sum > trace->scalar.value
            ? fmt::format(
                  " The {} largest eigenvalues sum to more than the trace: the negative ones "
                  "take away {} at least.",
                  count,
                  words(sum - trace->scalar.value))
            : fmt::format(" The {} largest eigenvalues sum to {} of the trace.",
                          count,
                          percent(sum / trace->scalar.value));
  }
  const std::string bounds = interval(trace->scalar);
  finding.certainty += fmt::format(" The trace {} is an estimate from random vectors{}.",
                                   words(trace->scalar.value),
                                   bounds.empty() ? "" : ", " + bounds);
}

/// "12 % of the limit (4 of 33, step 10)"
std::string share_of(const Stability::Reading& reading, const std::string& limit) {
  const auto told = in_words(reading);
  return fmt::format("{}{} ({} of {}, step {})",
                     told.relation,
                     limit.empty() ? "" : " of " + limit,
                     told.a,
                     told.b,
                     reading.step);
}

/// The sharpness against its limit, where it came nearest to it, and at its last measurement.
Finding against_limit(const Arm& arm, const Stability& stability, const std::string& limit) {
  const auto& most = stability.most();
  const auto& newest = stability.readings.back();
  Finding out{"sharpness", "", bound_of(most.lambda)};
  out.text =
      fmt::format("{}: the {} reached {}", arm.label, stability.name(), share_of(most, limit));
  if (newest.step != most.step) out.text += "; it was last at " + share_of(newest, "");
  out.text += ".";
  out.certainty += " " + coverage_of(arm, stability);
  return out;
}

/// λ1 of the Hessian against the limit of plain gradient descent, where that is the nearest there
/// is.
Finding against_descent(const Arm& arm, const store::StepValue& last) {
  const auto descent = descent_stability_of(arm);
  if (!descent.readings.empty()) {
    auto out = against_limit(arm, descent, "2/learning rate");
    const auto above = std::ranges::find(descent.readings, Side::kAbove, &Stability::Reading::side);
    if (above != descent.readings.end()) {
      out.text += fmt::format(" It stood above that limit at step {} first.", above->step);
      out.certainty += " The limit is that of plain gradient descent; Adam has another.";
    }
    return out;
  }
  Finding out{"sharpness", "", bound_of(last.scalar), !is_resolved(last.scalar)};
  out.warning |= is_unknown(last.scalar);
  out.text = is_unknown(last.scalar)
                 ? fmt::format(
                       "{}: the sharpness λ1 at step {} is not resolved: its error is as large as "
                       "itself.",
                       arm.label,
                       last.step)
                 : fmt::format("{}: the sharpness λ1 at step {} is {}.",
                               arm.label,
                               last.step,
                               words(last.scalar.value));
  return out;
}

}  // namespace

void find_curvature(const std::vector<Arm>& arms, Findings& out) {
  for (const Arm* run : runs_of(arms)) {
    const Arm& arm = *run;
    const auto last = arm.last(id::kHessianLambda.at(1));
    if (!last) continue;
    const auto own = stability_of(arm);
    Finding finding = own.own ? against_limit(arm, own, "the optimiser's stability limit")
                              : against_descent(arm, *last);
    if (own.own && is_resolved(last->scalar)) {
      finding.text += fmt::format(
          " λ1 of the Hessian is {} at step {}.", words(last->scalar.value), last->step);
    }
    finding.warning |= diagnose_rate(arm).verdict == Verdict::kAtLimit;
    add_share_of_trace(arm, finding);
    out.push_back(std::move(finding));
  }
}

void find_gradient_variance(const std::vector<Arm>& arms, Findings& out) {
  for (const Arm* run : runs_of(arms)) {
    const Arm& arm = *run;
    std::optional<store::StepValue> worst;  // measured, where the published formula is furthest off
    double worst_gap = -1;
    std::size_t inside = 0;
    std::size_t compared = 0;
    for (const auto& layer : layers_of(arm, id::kVarianceMeasured)) {
      const auto measured = arm.last(id::kVarianceMeasured, layer);
      const auto published = arm.last(id::kVariancePublished, layer);
      if (!measured || !published) continue;
      const store::Scalar& m = measured->scalar;
      const double p = published->scalar.value;
      ++compared;
      if (m.lower && m.upper && p >= *m.lower && p <= *m.upper) ++inside;
      const double gap = std::abs(std::log(p / m.value));
      if (!(gap > worst_gap)) continue;
      worst_gap = gap;
      worst = measured;
    }
    if (!worst) continue;
    const store::Scalar& m = worst->scalar;
    const double published = arm.last(id::kVariancePublished, m.layer)->scalar.value;
    Finding finding{"gradient_variance", "", "", false};
    finding.text =
        fmt::format("{}: Lemma 2 as published gives {} of the measured gradient variance in {}",
                    arm.label,
                    percent(published / m.value),
                    m.layer);
    const auto derived = arm.last(id::kVarianceDerived, m.layer);
    if (derived) {
      finding.text += fmt::format(", the formula derived for the dropout that ran gives {}",
                                  percent(derived->scalar.value / m.value));
    }
    finding.text += compared > 1 ? " (the layer where the published one is furthest off)." : ".";
    if (m.lower && m.upper) {
      finding.certainty = fmt::format(
          "The measurement is known to {}–{} of itself (95 %); the published value lies "
          "inside the interval in {} of {} layers.",
          percent(*m.lower / m.value),
          percent(*m.upper / m.value),
          inside,
          compared);
    }
    const auto independence = arm.last(id::kVarianceIndependence, m.layer);
    const auto zero_mean = arm.last(id::kVarianceZeroMean, m.layer);
    if (independence && zero_mean) {
      finding.certainty += fmt::format(
          " As shares of the measurement, assuming independence costs {} and assuming a zero mean "
          "{}.",
          percent(std::abs(independence->scalar.value) / m.value),
          percent(std::abs(zero_mean->scalar.value) / m.value));
    }
    out.push_back(std::move(finding));
  }
}

void find_bias_choice(const std::vector<Arm>& arms, Findings& out) {
  for (const Arm& arm : arms) {
    std::optional<Ratio> most, least;  // where a bias could save most, where b = −μ costs most
    std::vector<double> could_save;    // the lower ends of all layers
    for (const auto& layer : layers_of(arm, id::kVarianceBiasZero)) {
      if (auto best = variance_at(arm, layer, id::kVarianceBiasMinimiser)) {
        could_save.push_back(best->lower.value_or(best->value));
        if (!most || best->value < most->value) most = std::move(best);
      }
      if (auto at_mean = variance_at(arm, layer, id::kVarianceBiasMinusMean);
          at_mean && at_mean->value > (least ? least->value : 1))
        least = std::move(at_mean);
    }
    if (!most) continue;
    std::vector<std::string> parts;
    for (const auto& [choice, label] : {std::pair{id::kVarianceBiasLearned, "at the learned b"},
                                        std::pair{id::kVarianceBiasMinusMean, "at b = −μ"},
                                        std::pair{id::kVarianceBiasMinimiser, "at the best b"}}) {
      if (choice == id::kVarianceBiasLearned && !has_bias(arm, most->layer)) continue;
      if (const auto ratio = variance_at(arm, most->layer, choice))
        parts.push_back(fmt::format("{}× {}", words(ratio->value), label));
    }
    const auto rivals =
        std::ranges::count_if(
            could_save, [&](double lower) { return lower <= most->upper.value_or(most->value); }) -
        1;
    std::string text = fmt::format(
        "{}: of that at b = 0, the gradient variance in {} is {} (the layer where a bias could "
        "save most{}).",
        arm.label,
        most->layer,
        listed(parts),
        rivals == 0 ? ""
                    : fmt::format(", or as much as {}: their intervals overlap",
                                  counted(static_cast<std::size_t>(rivals), "other layer")));
    if (least)
      text += fmt::format(" In {} it is {}× at b = −μ.", least->layer, words(least->value));
    const auto reference = arm.last(id::kVarianceBiasZero, most->layer);
    const std::string bounds = !reference ? "" : interval(reference->scalar);
    out.push_back({"bias_choice",
                   std::move(text),
                   "Same masks, everything else frozen" +
                       (bounds.empty() ? std::string(".")
                                       : fmt::format("; at b = 0 it is {} ({}).",
                                                     words(reference->scalar.value),
                                                     bounds)),
                   false});
  }
}

}  // namespace kappascope::reports
