// SPDX-License-Identifier: Apache-2.0
// Which layer learns slowest, and does that matter in a run of this length?
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "reports/diagnosis/questions.h"
#include "reports/figures/builders.h"

namespace kappascope::reports {
namespace {

/// Gradient descent at its best fixed rate shrinks the error along the slowest direction by
/// (κ-1)/(κ+1) a step, so by a factor e in about κ/2 steps.
constexpr double kKappaAStep = 2;
/// A run of so many times a layer's steps to learn 90 %, or to shrink by e, is long enough.
constexpr double kTimesOver = 3, kTimesOverShrunk = 10;

/// The ends of its interval, as far as they are known.
std::pair<double, double> range_of(const store::Scalar& s) {
  const bool resolved = is_resolved(s);
  return {s.lower.value_or(resolved ? s.value : 1),
          s.upper.value_or(resolved ? s.value : std::numeric_limits<double>::infinity())};
}

WorstLayer judged(const Arm& arm, const std::optional<store::StepValue>& point, bool in_steps) {
  WorstLayer out;
  out.question = Question::kWorstLayer;
  out.in_steps = in_steps;
  if (!point) return out;
  const store::Scalar& s = point->scalar;
  const bool resolved = is_resolved(s);
  const double limit = steps_of(arm) * (in_steps ? 1 : kKappaAStep);
  const auto [lower, upper] = range_of(s);
  out.point = point;
  if (resolved) out.value = s.value;
  out.lower = s.lower;
  out.upper = s.upper;
  out.threshold = limit;
  out.evidence = {{s.name, s.layer, point->step}};
  if (in_steps) out.usual = usual_of(arm, s.name, s.layer);
  const Side side = side_of(lower, upper, limit);
  const double well = limit / (in_steps ? kTimesOver : kTimesOverShrunk);
  if (is_of_the_start(arm, point->step)) {
    out.verdict = Verdict::kTooEarly;
  } else if (side == Side::kBelow) {
    out.verdict = Verdict::kFine;
    out.grade = side_of(lower, upper, well) == Side::kBelow ? Grade::kGood : Grade::kWatch;
  } else if (side == Side::kAbove) {
    out.verdict = Verdict::kLimits, out.grade = Grade::kBad;
  } else if (resolved) {
    out.verdict = Verdict::kLimits, out.grade = Grade::kWatch;
  } else {
    out.verdict = Verdict::kUndecided;
  }
  out.of_failed = rise_of(arm).has_value();
  if (out.of_failed) out.grade = Grade::kOpen;
  return out;
}

WorstLayer worst_of(const Arm& arm, const std::vector<store::StepValue>& points, bool in_steps) {
  const auto worst = std::ranges::max_element(
      points, {}, [](const store::StepValue& point) { return least_of(point.scalar); });
  if (worst == points.end()) return judged(arm, std::nullopt, in_steps);
  auto out = judged(arm, *worst, in_steps);
  const auto [oldest, newest] = std::ranges::minmax_element(points, {}, &store::StepValue::step);
  out.oldest_step = oldest->step;
  out.newest_step = newest->step;
  const double lower = range_of(worst->scalar).first;
  for (const auto& point : points)
    if (point.scalar.layer != worst->scalar.layer && range_of(point.scalar).second >= lower)
      out.rivals.push_back(point.scalar.layer);
  return out;
}

}  // namespace

bool is_empty(const store::Scalar& steps) {
  return steps.status == store::Status::kDegenerate && std::isnan(steps.value);
}

double least_of(const store::Scalar& scalar) {
  const bool known = is_resolved(scalar) || scalar.status == store::Status::kDegenerate;
  return known ? scalar.value : scalar.lower.value_or(1);
}

WorstLayer slowest_layer_of(const Arm& arm) {
  std::vector<store::StepValue> points;
  for (const auto& layer : layers_of(arm, id::kLearning))
    if (const auto point = arm.newest(block_steps(arm, layer), layer);
        point && !is_empty(point->scalar))
      points.push_back(*point);
  return worst_of(arm, points, true);
}

WorstLayer worst_conditioned_of(const Arm& arm) {
  std::vector<store::StepValue> points;
  for (const auto& layer : layers_of(arm, id::kKappas))
    if (const auto point = arm.last(block_kappa(arm, layer), layer)) points.push_back(*point);
  return worst_of(arm, points, false);
}

WorstLayer worst_layer_of(const Arm& arm) {
  auto slowest = slowest_layer_of(arm);
  return slowest.point ? slowest : worst_conditioned_of(arm);
}

std::vector<std::pair<std::size_t, WorstLayer>> worst_layers_of(const std::vector<Arm>& arms) {
  return by_arm(
      arms,
      [](const Arm& arm) { return worst_layer_of(arm); },
      [](const WorstLayer& w) { return std::tuple(w.in_steps, least_of(w.point->scalar)); });
}

}  // namespace kappascope::reports
