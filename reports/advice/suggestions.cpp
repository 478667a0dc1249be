// SPDX-License-Identifier: Apache-2.0
// One function a thing to try; each speaks only where a number of the run asks for it.
#include "reports/advice/suggestions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "reports/findings/ratio.h"
#include "reports/findings/stability.h"
#include "reports/number_format.h"

namespace kappascope::reports {
namespace {

using Maybe = std::optional<Suggestion>;

constexpr double kLeastFactor = 1.1;  // less is not worth a change
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// "12 (10 to 14)".
std::string with_interval(const store::Scalar& scalar) {
  if (!scalar.lower || !scalar.upper) return words(scalar.value);
  return fmt::format(
      "{} ({} to {})", words(scalar.value), words(*scalar.lower), words(*scalar.upper));
}

Maybe precision(const Arm& arm) {
  for (const auto& layer : layers_of({arm}, id::kOutsideBfloat16)) {
    const auto* outside = arm.last(id::kOutsideBfloat16, layer);
    const auto* broken = arm.last(id::kNonfiniteRows, layer);
    const bool lost = broken != nullptr && broken->scalar.value > 0;
    if (!lost && (outside == nullptr || !(outside->scalar.value > 0))) continue;
    return Suggestion{
        .what = "precision",
        .evidence =
            lost ? fmt::format("{} rows of the features of {} hold NaN or infinity at step {}",
                               words(broken->scalar.value),
                               layer,
                               broken->step)
                 : fmt::format("{} features of {} lie outside of what bfloat16 can hold at "
                               "step {}",
                               words(outside->scalar.value),
                               layer,
                               outside->step),
        .attempt = "float32 for this layer's features and its down-projection",
        .success = "the count is zero in the windows that follow",
        .unknown = "whether the loss suffered from it before"};
  }
  return std::nullopt;
}

/// Spikes of the loss, or a sharpness at the optimiser's limit.
Maybe rate(const Arm& arm) {
  const auto& losses = arm.series(id::kLossTrain);
  const auto spikes = telling_spikes(arm);
  const auto stability = stability_of(arm);
  if (spikes.empty() && !stability.is_at_limit()) return std::nullopt;
  std::string evidence;
  if (!spikes.empty()) {
    evidence =
        fmt::format("the training loss has {}, the first at step {}, to {} where {} is usual",
                    counted(spikes.size(), "spike"),
                    losses[spikes.front().begin].step,
                    words(spikes.front().peak),
                    words(spikes.front().usual));
  }
  if (stability.holds) {
    const auto& most = stability.most();
    const auto told = most.in_words();
    evidence += fmt::format(
        "{}the optimiser sees a sharpness λ1 of {} at step {}, {} of its limit {}, the most of it",
        evidence.empty() ? "" : ", and ",
        told.a,
        most.step,
        told.relation,
        told.b);
  }
  const auto last = arm.last_step;
  const bool early = !spikes.empty() && losses[spikes.front().begin].step < last / 10;
  return Suggestion{
      .what = early ? "warm-up" : "rate",
      .evidence = evidence,
      .attempt = early ? "a warm-up over the first tenth of the steps, and beside it half the rate"
                       : "half the rate, and beside it a longer warm-up",
      .success =
          "the spikes are gone and the test loss at the end is no higher, over several seeds",
      .unknown = spikes.empty()
                     ? "whether it helps at all: training often stays at its limit and learns there"
                     : "whether the rate makes the spikes, or a batch does"};
}

/// The layer whose critical batch is known to be largest, against the rows of a step.
Maybe batch(const Arm& arm) {
  constexpr double kSmall = 2;    // the critical batch over the batch from which a larger one pays
  constexpr double kLarge = 0.1;  // below it a smaller batch does as well
  const store::StepValue* most = nullptr;
  double largest_upper = 0;
  for (const auto& layer : layers_of({arm}, id::kCriticalBatch)) {
    const auto* point = arm.last(id::kCriticalBatch, layer);
    if (point == nullptr || !point->scalar.lower || !(point->scalar.n > 0)) continue;
    if (is_of_the_start(arm, point->step)) continue;
    if (most == nullptr || *point->scalar.lower > *most->scalar.lower) most = point;
    largest_upper = std::max(largest_upper, point->scalar.upper.value_or(kInfinity));
  }
  if (most == nullptr) return std::nullopt;
  const double rows = *most->scalar.n;
  const bool small = *most->scalar.lower > kSmall * rows, large = largest_upper < kLarge * rows;
  if (!small && !large) return std::nullopt;
  return Suggestion{
      .what = "batch",
      .evidence =
          fmt::format("noise and mean of the gradient of {} are as large as each other at a "
                      "batch of {} rows at step {}, against {} in a step",
                      most->scalar.layer,
                      with_interval(most->scalar),
                      most->step,
                      words(rows)),
      .attempt = small ? "a batch of twice the rows, or a rate that falls to a tenth at the end"
                       : "a batch of half the rows at the same rate",
      .success = small ? "the loss falls further in as many steps"
                       : "the loss falls as far in as many steps, each of which costs half",
      .unknown = "the noise of the other parameters, and of rows of one sequence together"};
}

/// What scaling each feature would do to κ of the block.
Maybe norm(const Arm& arm) {
  constexpr double kSeveral = 4;
  if (arm.fact("optimizer").starts_with("adam") || arm.fact("optimizer").starts_with("Adam"))
    return std::nullopt;  // it scales each weight already
  std::optional<Ratio> best;
  std::string where;
  std::int64_t step = 0;
  for (const auto& layer : layers_of({arm}, id::kKappas)) {
    const auto* plain = arm.last(id::kKappaWithBias, layer);
    const auto ratio = ratio_of(plain, arm.last(id::kKappaWithBiasScaled, layer));
    if (!ratio || !ratio->lower || *ratio->lower < kSeveral) continue;
    if (is_of_the_start(arm, plain->step)) continue;
    if (best && *best->lower >= *ratio->lower) continue;
    best = ratio;
    where = layer;
    step = plain->step;
  }
  if (!best) return std::nullopt;
  return Suggestion{
      .what = "norm",
      .evidence = fmt::format("scaling each feature of {} to unit size would divide κ of its block "
                              "by {} ({} to {}, at least 90 %) at step {}",
                              where,
                              words(best->value),
                              words(*best->lower),
                              words(best->upper.value_or(kInfinity)),
                              step),
      .attempt =
          "a norm on the features before this down-projection, or Adam in place of SGD, which "
          "scales each weight by itself",
      .success = "κ of the block falls by about that factor, and the loss falls faster early on",
      .unknown = "what the norm does to what the layer can represent"};
}

Maybe bias(const Arm& arm, const std::vector<LayerAdvice>& layers) {
  const LayerAdvice* most = nullptr;
  for (const auto& layer : layers) {
    if (layer.has_bias || !layer.mean_costs || layer.mean_costs->lower.value_or(0) < kLeastFactor)
      continue;
    if (is_of_the_start(arm, layer.step)) continue;
    if (most == nullptr || *layer.mean_costs->lower > *most->mean_costs->lower) most = &layer;
  }
  if (most == nullptr) return std::nullopt;
  return Suggestion{
      .what = "bias",
      .evidence =
          fmt::format("the mean of the features costs {} a factor of {} ({} to {}) in {} at "
                      "step {}",
                      most->layer,
                      words(most->mean_costs->value),
                      words(*most->mean_costs->lower),
                      words(most->mean_costs->upper.value_or(kInfinity)),
                      most->in_steps ? "the steps to learn 90 %" : "κ",
                      most->step),
      .attempt = "a post-gating bias and, as its control, a plain output bias",
      .success = "the test loss is lower with it than with the control, over several seeds",
      .unknown = "whether one block limits this training"};
}

}  // namespace

bool is_of_the_start(const Arm& arm, std::int64_t step) {
  return step < arm.last_step / 10;
}

std::vector<Suggestion> suggestions(const Arm& arm, const std::vector<LayerAdvice>& layers) {
  std::vector<Suggestion> out;
  for (auto& found : {precision(arm), rate(arm), batch(arm), norm(arm), bias(arm, layers)})
    if (found) out.push_back(*found);
  return out;
}

}  // namespace kappascope::reports
