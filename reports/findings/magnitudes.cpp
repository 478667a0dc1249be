// SPDX-License-Identifier: Apache-2.0
// How large the features are, and what 8-bit formats would keep of them.
#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string>

#include "reports/findings/rules.h"
#include "reports/findings/wording.h"
#include "reports/runs/groups.h"

namespace kappascope::reports {
namespace {

/// What the ends of the number are that an answer rests on.
std::string kind_of(const Arm& arm, const Diagnosis& answer) {
  const auto& [series, layer, step] = answer.evidence.front();
  const auto point = arm.last(series, layer);
  return point ? kind_of_interval(point->scalar) : "95 %";
}

std::string bounds_of(const Arm& arm, const Diagnosis& answer) {
  return fmt::format("{}: {}–{} (step {}).",
                     kind_of(arm, answer),
                     words(*answer.lower),
                     words(*answer.upper),
                     answer.evidence.front().step);
}

}  // namespace

void find_massive(const std::vector<Arm>& arms, Findings& out) {
  for (const Arm& arm : arms) {
    const auto answer = diagnose_massive(arm);
    if (answer.verdict != Verdict::kOutliers) continue;
    const auto& layer = answer.evidence.front().layer;
    out.push_back({"massive_activations",
                   fmt::format("{}: the largest activation of {}, {}, is {}× the median: massive "
                               "activations, which low-precision formats and pruning must spare.",
                               arm.label,
                               layer,
                               words(arm.last(id::kLargest, layer)->scalar.value),
                               words(*answer.value)),
                   bounds_of(arm, answer),
                   false});
  }
}

void find_alignment(const std::vector<Arm>& arms, Findings& out) {
  for (const Arm& arm : arms) {
    const auto answer = diagnose_alignment(arm);
    if (answer.verdict != Verdict::kAligned) continue;
    const auto& [series, layer, step] = answer.evidence.front();
    const auto median = arm.last(id::kAlignment, layer);
    out.push_back(
        {"alignment",
         fmt::format(
             "{}: in {} a channel's rows of W_gate and W_up are nearly parallel: "
             "|cos| is {}{}. Such a channel squares one projection, and its largest "
             "values grow.",
             arm.label,
             layer,
             words(*answer.value),
             median ? fmt::format(", with a median of {}", words(median->scalar.value)) : ""),
         fmt::format("Exact, of the weights at step {}.", step),
         false});
  }
}

void find_eight_bit(const std::vector<Arm>& arms, Findings& out) {
  for (const Arm& arm : arms) {
    const auto answer = diagnose_eight_bit(arm);
    if (answer.verdict != Verdict::kLossy) continue;
    const auto& layer = answer.evidence.front().layer;
    auto text = fmt::format(
        "{}: FP8 (e4m3) with one scale for the tensor would round {} of the features ≠ 0 of {} to "
        "zero",
        arm.label,
        percent(*answer.value),
        layer);
    if (const auto blocks = arm.last(id::kLostMxfp8, layer); blocks && is_resolved(blocks->scalar))
      text += fmt::format("; with a scale for every 32 channels (MXFP8) {}",
                          percent(blocks->scalar.value));
    out.push_back({"eight_bit",
                   text + ".",
                   fmt::format("{}: {}–{} (step {}). It matters where this layer is to run in FP8.",
                               kind_of(arm, answer),
                               percent(*answer.lower),
                               percent(*answer.upper),
                               answer.evidence.front().step),
                   false});
  }
}

void find_lost_updates(const std::vector<Arm>& arms, Findings& out) {
  constexpr double kMost = 0.5;
  for (const Arm* run : runs_of(arms)) {
    std::size_t layers = 0, lost = 0;
    std::optional<store::StepValue> worst;
    std::string where;
    for (const auto& layer : layers_of(*run, id::kUnchanged)) {
      const auto share = run->last(id::kUnchanged, layer);
      const auto moved = run->last(id::kDownUpdate, layer);
      ++layers;
      // A frozen layer does not move at all.
      const bool moves = moved && moved->step == share->step && moved->scalar.value > 0;
      if (!moves || share->scalar.lower.value_or(0) <= kMost) continue;
      ++lost;
      if (worst && worst->scalar.value >= share->scalar.value) continue;
      worst = share;
      where = layer;
    }
    if (!worst) continue;
    out.push_back(
        {"lost_updates",
         fmt::format("{}: in {} of {} layers a step leaves most of the weights as they were, to "
                     "the last bit: in {} {} of them. The number format rounds such updates away.",
                     run->label,
                     lost,
                     layers,
                     where,
                     percent(worst->scalar.value)),
         fmt::format("95 %: {}–{} (step {}). Weights kept in float32, or rounding at random, would "
                     "take them.",
                     percent(*worst->scalar.lower),
                     percent(worst->scalar.upper.value_or(1)),
                     worst->step),
         false});
  }
}

}  // namespace kappascope::reports
