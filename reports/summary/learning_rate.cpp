// SPDX-License-Identifier: Apache-2.0
// Signs that the learning rate is too high.
#include <fmt/format.h>

#include "reports/summary/answers.h"

namespace kappascope::reports {
namespace {

Reading reading_of(std::size_t a, const RateDiagnosis& signs) {
  Reading reading{.arm = a};
  if (signs.diverged) {
    reading.number = fmt::format("the loss is not finite from step {}", *signs.diverged);
  } else if (signs.rise) {
    reading.number = fmt::format(
        "the training loss rose from {} to {}", words(signs.rise->first), words(signs.rise->last));
  } else if (!signs.spikes.empty()) {
    const auto first = signs.run->series(id::kLossTrain)[signs.spikes.front().begin].step;
    const std::string place =
        fmt::format("{} step {}", signs.spikes.size() == 1 ? "at" : "the first at", first);
    reading.number =
        signs.all_spikes > signs.spikes.size()
            ? fmt::format("{} of {} spikes of the loss far above all before, {}",
                          signs.spikes.size(),
                          signs.all_spikes,
                          place)
            : fmt::format("{} of the loss, {}", counted(signs.spikes.size(), "spike"), place);
  } else if (signs.all_spikes > 0) {
    reading.number = fmt::format("{} of the loss, none far above all before",
                                 counted(signs.all_spikes, "spike"));
  } else if (signs.losses == 0) {
    reading.number = "no loss was stored";
  } else {
    reading.number = fmt::format("no spike in {} losses", grouped(double(signs.losses)));
    const bool tried =
        signs.run->has(id::kHessianLambda) || signs.run->has(id::kPreconditionedLambda);
    if (signs.stability.readings.empty())
      reading.number += tried ? "; sharpness not resolved" : "; sharpness not measured";
  }
  if (signs.runs > 1)
    reading.number += fmt::format(" ({} of {} seeds are like that)", signs.alike, signs.runs);
  if (const auto& stability = signs.stability; !stability.readings.empty()) {
    const auto& most = stability.most();
    const auto told = in_words(most);
    reading.interval = fmt::format("{} {}{}, {} of {} = {} at step {}{}",
                                   stability.name(),
                                   most.bound ? "" : "= ",
                                   told.a,
                                   told.relation,
                                   stability.holds ? "its limit" : "2/rate",
                                   told.b,
                                   most.step,
                                   stability.readings.size() > 1 ? ", the most of it" : "");
  }
  return reading;
}

std::string explained(const RateDiagnosis& rate) {
  if (rate.verdict == Verdict::kDiverged && rate.is_below_limit())
    return "What the optimiser saw stayed below its limit, so the rate alone does not explain it: "
           "look first at the batch of that step, and at the precision.";
  if (rate.verdict == Verdict::kDiverged)
    return "Lower train.learning-rate, or lengthen train.warmup.";
  if (rate.verdict == Verdict::kRose) {
    return "Nine of ten losses of the last tenth of the run lie above twice the first one. A rate "
           "that "
           "is too high does that; so does an objective that changes, as an adversary's.";
  }
  if (!rate.spikes.empty()) {
    return "A spike is a training loss 8 robust deviations above the 50 calm ones before it; here "
           "those count that are far above all before, as fewer than 1 in 100 healthy runs of "
           "5,000 steps has one. " +
           std::string(rate.is_below_limit()
                           ? "The sharpness stayed below its limit wherever it was measured, which "
                             "speaks against the rate: look first at the batches of those steps."
                           : "A lower rate or a longer warm-up would show whether the rate makes "
                             "them.");
  }
  if (rate.stability.holds) {
    return std::string(rate.verdict == Verdict::kUndecided ? "The error bars of λ1 hold the limit. "
                                                           : "") +
           "The limit follows from the rate and the momentum: 2/rate for gradient descent, "
           "(2 + 2β)/rate with momentum, (2 + 2β1)/((1 − β1) rate) for Adam. Above it the "
           "optimiser overshoots along the sharpest direction; training often rises to it and "
           "stays there, with a smaller rate too.";
  }
  if (rate.verdict == Verdict::kUndecided) return "Too few losses are stored to look for spikes.";
  return "The loss shows no sign of it. 2/rate is the limit of plain gradient descent; this "
         "optimiser has another, which was not measured.";
}

const char* answer_of(const RateDiagnosis& rate) {
  const Verdict verdict = rate.verdict;
  return verdict == Verdict::kDiverged  ? (rate.is_below_limit() ? "perhaps" : "yes")
         : verdict == Verdict::kRose    ? (rate.rise->beyond_doubt ? "yes" : "probably")
         : verdict == Verdict::kAtLimit ? "at its limit"
         : verdict == Verdict::kSpikes  ? (rate.is_below_limit() ? "probably not" : "perhaps")
         : verdict == Verdict::kFine    ? "no sign of it"
                                        : "cannot tell";
}

}  // namespace

Answer learning_rate(const std::vector<Arm>& arms) {
  Answer out{.id = "learning_rate",
             .question = "Is the learning rate too high?",
             .answer = "cannot tell",
             .why = "No training loss was stored.",
             .figure = "hessian_eigenvalues"};
  const auto found = by_arm(arms, diagnose_rate, [](const RateDiagnosis& r) { return r.grade; });
  if (found.empty()) return out;
  for (const auto& [a, rate] : found) {
    out.readings.push_back(reading_of(a, rate));
    out.readings.back().gauge = gauge_of(rate);
  }
  out.threshold = "the optimiser's limit";
  out.interval = "bound of its numerical error";
  const RateDiagnosis& first = found.front().second;
  out.grade = first.grade;
  out.answer = answer_of(first);
  out.why = explained(first);
  if (const auto coverage = coverage_of(*first.run, first.stability); !coverage.empty())
    out.why += " The sharpness: " + coverage;
  return out;
}

}  // namespace kappascope::reports
