// SPDX-License-Identifier: Apache-2.0
// What the gradients and the Hessian say.
#include "reports/findings/curvature.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "reports/findings/rules.h"

namespace kappascope::reports {
namespace {

std::string bound_of(const store::Scalar& scalar) {
  if (!scalar.lower || !scalar.upper) return "No error bound was recorded.";
  return fmt::format("Residual bound: {} to {}{}.",
                     words(*scalar.lower),
                     words(*scalar.upper),
                     is_resolved(scalar) ? "" : ", not converged (" + status_text(scalar) + ")");
}

/// An eigenvalue whose bounds hold zero, or a value of twice its size.
bool is_unknown(const store::Scalar& scalar) {
  if (!scalar.lower || !scalar.upper) return false;
  return *scalar.lower <= 0 ? *scalar.upper >= 0 : *scalar.upper > 2 * std::abs(scalar.value);
}

/// What the top eigenvalues carry of the trace, where both were measured at the same step.
void add_share_of_trace(const Arm& arm, Finding& finding) {
  const auto* trace = arm.last(id::kHessianTrace);
  if (trace == nullptr || !(trace->scalar.value > 0)) return;
  double sum = 0;
  int count = 0;
  while (const auto* point = arm.last(id::kHessianLambda.at(count + 1))) {
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
    finding.text += sum > trace->scalar.value
                        ? fmt::format(
                              " The {} largest sum to more than the trace: the negative ones "
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

}  // namespace

double rate_at(const Arm& arm, std::int64_t step) {
  const auto& rates = arm.series(id::kLearningRate);
  const auto after = std::upper_bound(
      rates.begin(), rates.end(), step, [](std::int64_t s, const store::StepValue& p) {
        return s < p.step;
      });
  return after == rates.begin() ? 0 : std::prev(after)->scalar.value;
}

void find_curvature(const std::vector<Arm>& arms, Findings& out) {
  for (const Arm& arm : arms) {
    const auto& points = arm.series(id::kHessianLambda.at(1));
    const auto* last = arm.last(id::kHessianLambda.at(1));
    if (last == nullptr) continue;
    const double rate = rate_at(arm, last->step);
    Finding finding{"sharpness", "", bound_of(last->scalar), !is_resolved(last->scalar)};
    if (is_unknown(last->scalar)) {
      finding.text = fmt::format(
          "{}: the sharpest curvature at step {} is not resolved: its error "
          "is as large as itself.",
          arm.label,
          last->step);
      finding.warning = true;
      out.push_back(std::move(finding));
      continue;
    }
    finding.text = fmt::format("{}: the sharpest curvature is λ1 = {} at step {}",
                               arm.label,
                               words(last->scalar.value),
                               last->step);
    if (rate > 0) {
      const double limit = 2 / rate;
      finding.text += fmt::format(
          ", {} of 2/learning rate = {}", percent(last->scalar.value / limit), words(limit));
      const auto first = std::find_if(points.begin(), points.end(), [&](const auto& p) {
        const double then = rate_at(arm, p.step);
        return then > 0 && p.scalar.value > 2 / then;
      });
      if (first != points.end()) {
        finding.text += fmt::format("; it stood above that limit at step {} first", first->step);
        finding.certainty += " The limit is that of plain gradient descent; Adam has another.";
      }
    }
    finding.text += ".";
    const auto* seen = arm.last(id::kPreconditionedLambda);
    const auto* limit = arm.last(id::kStabilityLimit);
    if (seen != nullptr && limit != nullptr && seen->step == limit->step) {
      finding.text += fmt::format(
          " The optimiser sees λ1 = {} (of P^(-1/2) H P^(-1/2)), {} of its own stability limit {}.",
          words(seen->scalar.value),
          percent(seen->scalar.value / limit->scalar.value),
          words(limit->scalar.value));
    }
    add_share_of_trace(arm, finding);
    out.push_back(std::move(finding));
  }
}

void find_gradient_variance(const std::vector<Arm>& arms, Findings& out) {
  for (const Arm& arm : arms) {
    const store::StepValue* worst =
        nullptr;  // measured, where the published formula is furthest off
    double worst_gap = -1;
    std::size_t inside = 0;
    std::size_t compared = 0;
    for (const auto& layer : layers_of(arm, id::kVarianceMeasured)) {
      const auto* measured = arm.last(id::kVarianceMeasured, layer);
      const auto* published = arm.last(id::kVariancePublished, layer);
      if (measured == nullptr || published == nullptr) continue;
      const store::Scalar& m = measured->scalar;
      const double p = published->scalar.value;
      ++compared;
      if (m.lower && m.upper && p >= *m.lower && p <= *m.upper) ++inside;
      const double gap = std::abs(std::log(p / m.value));
      if (!(gap > worst_gap)) continue;
      worst_gap = gap;
      worst = measured;
    }
    if (worst == nullptr) continue;
    const store::Scalar& m = worst->scalar;
    const double published = arm.last(id::kVariancePublished, m.layer)->scalar.value;
    Finding finding{"gradient_variance", "", "", false};
    finding.text =
        fmt::format("{}: Lemma 2 as published gives {} of the measured gradient variance in {}",
                    arm.label,
                    percent(published / m.value),
                    m.layer);
    const auto* derived = arm.last(id::kVarianceDerived, m.layer);
    if (derived != nullptr) {
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
    const auto* independence = arm.last(id::kVarianceIndependence, m.layer);
    const auto* zero_mean = arm.last(id::kVarianceZeroMean, m.layer);
    if (independence != nullptr && zero_mean != nullptr) {
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
    const store::StepValue* most = nullptr;   // where a bias could save most
    const store::StepValue* least = nullptr;  // where b = −E φ costs most
    double saved = 2;
    double cost = 1;
    for (const auto& layer : layers_of(arm, id::kVarianceBiasZero)) {
      const auto* zero = arm.last(id::kVarianceBiasZero, layer);
      const auto* best = arm.last(id::kVarianceBiasMinimiser, layer);
      const auto* minus_mean = arm.last(id::kVarianceBiasMinusMean, layer);
      if (zero == nullptr || !(zero->scalar.value > 0)) continue;
      if (best != nullptr && best->scalar.value / zero->scalar.value < saved) {
        saved = best->scalar.value / zero->scalar.value;
        most = zero;
      }
      if (minus_mean != nullptr && minus_mean->scalar.value / zero->scalar.value > cost) {
        cost = minus_mean->scalar.value / zero->scalar.value;
        least = zero;
      }
    }
    if (most == nullptr) continue;
    const store::Scalar& reference = most->scalar;
    const bool has_bias = arm.last(id::kBiasResidual, reference.layer) != nullptr;
    std::vector<std::string> parts;
    for (const auto& [name, label] : {std::pair{id::kVarianceBiasLearned, "the learned b"},
                                      std::pair{id::kVarianceBiasMinusMean, "b = −E φ"},
                                      std::pair{id::kVarianceBiasMinimiser, "the best b"}}) {
      const auto* point = arm.last(name, reference.layer);
      if (point == nullptr || (name == id::kVarianceBiasLearned && !has_bias)) continue;
      const double change = point->scalar.value / reference.value - 1;
      parts.push_back(std::string(label) + (change > 0 ? " +" : " ") + percent(change));
    }
    std::string text = fmt::format(
        "{}: against b = 0, the gradient variance in {} changes by: {} "
        "(the layer where a bias could save most).",
        arm.label,
        reference.layer,
        fmt::join(parts, ", "));
    if (least != nullptr)
      text += fmt::format(
          " In {} b = −E φ makes it {} larger.", least->scalar.layer, percent(cost - 1));
    const std::string bounds = interval(reference);
    out.push_back(
        {"bias_choice",
         std::move(text),
         "Same masks, everything else frozen" +
             (bounds.empty()
                  ? std::string(".")
                  : fmt::format("; at b = 0 it is {} ({}).", words(reference.value), bounds)),
         false});
  }
}

}  // namespace kappascope::reports
