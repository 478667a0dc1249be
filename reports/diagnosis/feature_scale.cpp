// SPDX-License-Identifier: Apache-2.0
// What would scaling each feature to unit size do to κ of the block?
#include "reports/diagnosis/questions.h"

namespace kappascope::reports {

Diagnosis diagnose_feature_scale(const Arm& arm) {
  constexpr double kSeveral = 4;
  Diagnosis out{.question = Question::kFeatureScale, .threshold = kSeveral};
  if (arm.fact("optimizer").starts_with("adam") || arm.fact("optimizer").starts_with("Adam")) {
    out.verdict = Verdict::kFine, out.grade = Grade::kGood;  // it scales each weight already
    return out;
  }
  std::optional<Ratio> most;
  for (const auto& layer : layers_of(arm, id::kKappas)) {
    const auto plain = arm.last(id::kKappaWithBias, layer);
    const auto ratio = ratio_of(plain, arm.last(id::kKappaWithBiasScaled, layer));
    if (!ratio || !ratio->lower) continue;
    if (is_of_the_start(arm, plain->step)) {
      if (!most) out.verdict = Verdict::kTooEarly;
      continue;
    }
    if (most && *most->lower >= *ratio->lower) continue;
    most = ratio;
    out.evidence = {{id::kKappaWithBiasScaled, layer, plain->step}};
  }
  if (!most) return out;
  out.value = most->value;
  out.lower = most->lower;
  out.upper = most->upper;
  const Side side = side_of(most, kSeveral);
  out.verdict = side == Side::kAbove   ? Verdict::kUneven
                : side == Side::kBelow ? Verdict::kFine
                                       : Verdict::kUndecided;
  out.grade = side == Side::kAbove   ? Grade::kWatch
              : side == Side::kBelow ? Grade::kGood
                                     : Grade::kOpen;
  if (side == Side::kAbove) out.action = Action::kNorm;
  return out;
}

}  // namespace kappascope::reports
