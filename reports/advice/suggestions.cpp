// SPDX-License-Identifier: Apache-2.0
// One function a thing to try; what is tried, diagnosis/ decides.
#include "reports/advice/suggestions.h"

#include <fmt/format.h>

#include <limits>

#include "reports/findings/wording.h"

namespace kappascope::reports {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// "12 (10 to 14)", with what kind of interval it is.
std::string with_interval(const Diagnosis& answer, const char* kind = "") {
  if (!answer.lower || !answer.upper) return words(answer.value.value_or(kInfinity));
  return fmt::format(
      "{} ({} to {}{})", words(*answer.value), words(*answer.lower), words(*answer.upper), kind);
}

Suggestion precision(const Diagnosis& found, const Arm& arm) {
  const auto& [series, layer, step] = found.evidence.front();
  const bool lost = found.verdict == Verdict::kNonFinite;
  return {.evidence =
              fmt::format("{} {} {} {} at step {}",
                          words(arm.last(series, layer)->scalar.value),
                          lost ? "rows of the features of" : "features of",
                          layer,
                          lost ? "hold NaN or infinity" : "lie outside of what bfloat16 can hold",
                          step),
          .attempt = "float32 for this layer's features and its down-projection",
          .success = "the count is zero in the windows that follow",
          .unknown = "whether the loss suffered from it before"};
}

/// A loss that is no number, its spikes, or a sharpness at the optimiser's limit.
Suggestion rate(const RateDiagnosis& found, const Arm& arm) {
  std::vector<std::string> evidence;
  if (found.diverged)
    evidence.push_back(fmt::format("the loss is not finite from step {} on", *found.diverged));
  if (found.rise)
    evidence.push_back(fmt::format(
        "the training loss rose from {} to {}", words(found.rise->first), words(found.rise->last)));
  if (!found.spikes.empty()) {
    const auto& first = found.spikes.front();
    evidence.push_back(fmt::format("the training loss has {} at step {}, to {} where {} is usual",
                                   found.spikes.size() == 1
                                       ? "a spike"
                                       : fmt::format("{} spikes, the first", found.spikes.size()),
                                   arm.series(id::kLossTrain)[first.begin].step,
                                   words(first.peak),
                                   words(first.usual)));
  }
  if (found.stability.holds) {
    const auto& most = found.stability.most();
    const auto told = in_words(most);
    evidence.push_back(fmt::format("the {} is {} at step {}, {} of its limit {}, the most of it",
                                   found.stability.name(),
                                   told.a,
                                   most.step,
                                   told.relation,
                                   told.b));
  }
  return {.evidence = fmt::format("{}", fmt::join(evidence, ", and ")),
          .attempt =
              found.rise ? "a tenth of the rate; in a second trial, a longer warm-up"
              : found.action == Action::kCheckBatch
                  ? "the batch of that step once more in float32, and then half the rate"
              : found.action == Action::kWarmUp
                  ? "a warm-up over the first tenth of the steps; in a second trial, half the rate"
                  : "half the rate; in a second trial, a longer warm-up",
          .success = found.diverged ? "the loss stays a number, over several seeds"
                     : found.rise
                         ? "the loss falls, over several seeds"
                         : "the spikes are gone and the test loss at the end is no higher, over "
                           "several seeds",
          .unknown = found.verdict == Verdict::kAtLimit && found.spikes.empty()
                         ? "whether it helps at all: training often stays at its limit and learns "
                           "there"
                     : found.diverged || found.rise
                         ? "whether the rate makes it, or a batch or the precision does"
                         : "whether the rate makes the spikes, or a batch does"};
}

Suggestion dead_units(const Diagnosis& found, const Arm& arm) {
  const Evidence& at = found.evidence.front();
  return {.evidence = fmt::format("{} features that enter {} are zero in every row at step {}",
                                  always_zero(arm, at),
                                  at.layer,
                                  at.step),
          .attempt = "new weights and a bias of zero for its gate, and SiLU where that is a ReLU",
          .success = "fewer are zero in the windows that follow, and the loss falls further",
          .unknown = "whether the loss misses this layer"};
}

Suggestion batch(const BatchDiagnosis& found) {
  const bool small = found.action == Action::kLargerBatch;
  const store::Scalar& critical = found.point->scalar;
  Diagnosis shown = found;
  shown.upper = critical.upper;
  return {.evidence =
              fmt::format("noise and mean of the gradient of {} are as large as each other at a "
                          "batch of {} rows at step {}, against {} in a step",
                          critical.layer,
                          with_interval(shown),
                          found.point->step,
                          words(*critical.n)),
          .attempt = small ? "a batch of twice the rows, or a rate that falls to a tenth at the end"
                           : "a batch of half the rows at the same rate",
          .success = small ? "the loss falls further in as many steps"
                           : "the loss falls as far in as many steps, each of which costs half",
          .unknown = "the noise of the other parameters, and of rows of one sequence together"};
}

Suggestion norm(const Diagnosis& found) {
  const auto& at = found.evidence.front();
  return {
      .evidence = fmt::format("scaling each feature of {} to unit size would divide κ of its "
                              "block by {} at step {}",
                              at.layer,
                              with_interval(found, ", at least 90 %"),
                              at.step),
      .attempt =
          "a norm on the features before this down-projection, or Adam in place of SGD, which "
          "scales each weight by itself",
      .success = "κ of the block falls by about that factor, and the loss falls faster early on",
      .unknown = "what the norm does to what the layer can represent"};
}

Suggestion bias(const Diagnosis& found) {
  const auto& at = found.evidence.front();
  return {
      .evidence = fmt::format("the mean of the features costs {} a factor of {} in {} at step {}",
                              at.layer,
                              with_interval(found),
                              id::kLearning.contains(at.series) ? "the steps to learn 90 %" : "κ",
                              at.step),
      .attempt = "a post-gating bias and, as its control, a plain output bias",
      .success = "the test loss is lower with it than with the control, over several seeds",
      .unknown = "whether one block limits this training"};
}

}  // namespace

std::vector<Suggestion> suggestions(const Arm& arm, const Diagnoses& found) {
  std::vector<Suggestion> out;
  for (const Diagnosis* answer : found.next_steps()) {
    out.push_back(answer->question == Question::kPrecision      ? precision(found.precision, arm)
                  : answer->question == Question::kLearningRate ? rate(found.rate, arm)
                  : answer->question == Question::kDeadUnits    ? dead_units(found.dead_units, arm)
                  : answer->question == Question::kBatchSize    ? batch(found.batch)
                  : answer->question == Question::kFeatureScale ? norm(found.feature_scale)
                                                                : bias(found.bias));
    out.back().what = to_string(*answer->action);
  }
  return out;
}

}  // namespace kappascope::reports
