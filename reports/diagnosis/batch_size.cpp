// SPDX-License-Identifier: Apache-2.0
// Is a step's batch far from the one at which noise and mean of the gradient are equal?
#include <algorithm>
#include <limits>

#include "reports/diagnosis/questions.h"

namespace kappascope::reports {

BatchDiagnosis diagnose_batch(const Arm& arm) {
  constexpr double kSmall = 2;    // the critical batch over the batch from which a larger one pays
  constexpr double kLarge = 0.1;  // below it a smaller batch does as well
  BatchDiagnosis out;
  out.question = Question::kBatchSize;
  for (const auto& layer : layers_of(arm, id::kCriticalBatch)) {
    const auto point = arm.last(id::kCriticalBatch, layer);
    if (!point || !point->scalar.lower || !(point->scalar.n > 0)) continue;
    if (is_of_the_start(arm, point->step)) {
      if (!out.point) out.verdict = Verdict::kTooEarly;
      continue;
    }
    const double upper = point->scalar.upper.value_or(std::numeric_limits<double>::infinity());
    out.upper = std::max(out.upper.value_or(0), upper);
    if (!out.point || *point->scalar.lower > *out.lower) {
      out.point = point;
      out.lower = point->scalar.lower;
    }
  }
  if (!out.point) return out;
  const store::Scalar& most = out.point->scalar;
  out.value = most.value;
  out.evidence = {{id::kCriticalBatch, most.layer, out.point->step}};
  const Side small = side_of(*out.lower, *out.upper, kSmall * *most.n);
  const Side large = side_of(*out.lower, *out.upper, kLarge * *most.n);
  out.threshold = (large == Side::kAbove ? kSmall : kLarge) * *most.n;
  out.grade = Grade::kWatch;
  if (small == Side::kAbove) {
    out.verdict = Verdict::kTooSmall, out.action = Action::kLargerBatch;
  } else if (large == Side::kBelow) {
    out.verdict = Verdict::kTooLarge, out.action = Action::kSmallerBatch;
  } else {
    const bool between = small == Side::kBelow && large == Side::kAbove;
    out.verdict = between ? Verdict::kFine : Verdict::kUndecided;
    out.grade = between ? Grade::kGood : Grade::kOpen;
  }
  return out;
}

}  // namespace kappascope::reports
