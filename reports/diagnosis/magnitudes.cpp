// SPDX-License-Identifier: Apache-2.0
// Are there activations of another order than the rest, and would 8-bit formats hold them?
#include "reports/diagnosis/questions.h"

namespace kappascope::reports {
namespace {

struct Reading {
  double value = 0;
  std::optional<double> lower{}, upper{};
};

/// Takes over the reading of a layer that is surely worse than the one before.
void take_worse(Diagnosis& out, const Reading& reading, std::vector<Evidence> evidence) {
  if (out.value && out.lower.value_or(*out.value) >= reading.lower.value_or(reading.value)) return;
  out.value = reading.value;
  out.lower = reading.lower;
  out.upper = reading.upper;
  out.evidence = std::move(evidence);
}

/// Where it stands to its threshold; without an interval nothing is decided.
void decide(Diagnosis& out, Verdict above) {
  if (!out.value) return;
  const Side side =
      out.lower && out.upper ? side_of(*out.lower, *out.upper, *out.threshold) : Side::kUndecided;
  out.verdict = side == Side::kAbove   ? above
                : side == Side::kBelow ? Verdict::kFine
                                       : Verdict::kUndecided;
  out.grade = side == Side::kAbove   ? Grade::kWatch
              : side == Side::kBelow ? Grade::kGood
                                     : Grade::kOpen;
}

}  // namespace

Diagnosis diagnose_massive(const Arm& arm) {
  constexpr double kLarge = 100, kTimesMedian = 1000;
  Diagnosis out{.question = Question::kMassive, .threshold = kTimesMedian};
  for (const auto& layer : layers_of(arm, id::kLargest)) {
    const auto largest = arm.last(id::kLargest, layer);
    const auto median = arm.last(id::kMedianMagnitude, layer);
    if (!largest || !median || largest->step != median->step || !is_resolved(largest->scalar))
      continue;
    const auto& middle = median->scalar;
    if (!(middle.value > 0)) continue;
    if (out.verdict == Verdict::kNotMeasured) {
      out.verdict = Verdict::kFine;
      out.grade = Grade::kGood;
    }
    const double top = largest->scalar.value;
    if (top <= kLarge) continue;  // small values are not massive, however far they lie apart
    Reading reading{.value = top / middle.value};
    if (middle.lower && middle.upper && *middle.lower > 0) {
      reading.lower = top / *middle.upper;
      reading.upper = top / *middle.lower;
    }
    take_worse(out,
               reading,
               {{id::kLargest, layer, largest->step}, {id::kMedianMagnitude, layer, median->step}});
  }
  decide(out, Verdict::kOutliers);
  return out;
}

Diagnosis diagnose_alignment(const Arm& arm) {
  constexpr double kNearlyOne = 0.9;
  Diagnosis out{.question = Question::kAlignment, .threshold = kNearlyOne};
  for (const auto& layer : layers_of(arm, id::kLargestAlignment)) {
    const auto largest = arm.last(id::kLargestAlignment, layer);
    if (!largest || !is_resolved(largest->scalar)) continue;
    const double value = largest->scalar.value;  // exact
    take_worse(out, {value, value, value}, {{id::kLargestAlignment, layer, largest->step}});
  }
  decide(out, Verdict::kAligned);
  return out;
}

Diagnosis diagnose_eight_bit(const Arm& arm) {
  constexpr double kOnePercent = 0.01;
  Diagnosis out{.question = Question::kEightBit, .threshold = kOnePercent};
  for (const auto& layer : layers_of(arm, id::kLostE4m3)) {
    const auto lost = arm.last(id::kLostE4m3, layer);
    if (!lost || !is_resolved(lost->scalar)) continue;
    take_worse(out,
               {lost->scalar.value, lost->scalar.lower, lost->scalar.upper},
               {{id::kLostE4m3, layer, lost->step}});
  }
  decide(out, Verdict::kLossy);
  return out;
}

}  // namespace kappascope::reports
