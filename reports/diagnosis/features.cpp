// SPDX-License-Identifier: Apache-2.0
// Counts of features and rows that should be zero: what a precision loses, and dead units.
#include <algorithm>

#include "reports/diagnosis/questions.h"

namespace kappascope::reports {
namespace {

/// How much is counted in all; the first series in the list first.
Diagnosis counted_in(const Arm& arm,
                     Question question,
                     std::initializer_list<store::SeriesId> all) {
  Diagnosis out{.question = question, .threshold = 0};
  for (const auto series : all) {
    for (const auto& layer : layers_of(arm, series)) {
      const auto point = arm.last(series, layer);
      if (!point) continue;
      out.value = out.value.value_or(0) + point->scalar.value;
      out.verdict = Verdict::kFine, out.grade = Grade::kGood;
      if (point->scalar.value > 0) out.evidence.push_back({series, layer, point->step});
    }
  }
  return out;
}

constexpr double kHalf = 0.5;

/// Of a layer's features, as far as its width is known; 1 of a layer of zeros.
double dead_share(const Arm& arm, const Evidence& found) {
  if (found.series != id::kDeadFeatures) return 0;
  const auto largest = arm.last(id::kLargest, found.layer);
  if (largest && largest->step == found.step && largest->scalar.value == 0) return 1;
  const auto width = arm.last(id::kLayerWidth, found.layer);
  return width ? arm.last(found.series, found.layer)->scalar.value / width->scalar.value : 0;
}

}  // namespace

Diagnosis diagnose_precision(const Arm& arm) {
  auto out = counted_in(arm, Question::kPrecision, {id::kNonfiniteRows, id::kOutsideBfloat16});
  if (out.evidence.empty()) return out;
  const bool lost = out.evidence.front().series == id::kNonfiniteRows;
  out.verdict = lost ? Verdict::kNonFinite : Verdict::kOutOfRange;
  out.grade = lost ? Grade::kBad : Grade::kWatch;
  out.action = Action::kFloat32;
  return out;
}

Diagnosis diagnose_dead_units(const Arm& arm) {
  auto out = counted_in(arm, Question::kDeadUnits, {id::kDeadFeatures, id::kConstantFeatures});
  if (out.evidence.empty()) return out;
  out.verdict = Verdict::kDead;
  out.grade = Grade::kWatch;
  const auto worst = std::ranges::max_element(
      out.evidence, {}, [&](const Evidence& found) { return dead_share(arm, found); });
  if (dead_share(arm, *worst) < kHalf) return out;
  out.verdict = Verdict::kDeadLayer;
  out.grade = Grade::kBad;
  out.action = Action::kRevive;
  std::iter_swap(out.evidence.begin(), worst);
  return out;
}

}  // namespace kappascope::reports
