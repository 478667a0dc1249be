// SPDX-License-Identifier: Apache-2.0
// Is the learning rate too high? Only the loss itself and, for plain gradient descent, the
// sharpness can say so.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "kappascope/core/spikes.h"
#include "reports/findings/curvature.h"
#include "reports/summary/answers.h"

namespace kappascope::reports {
namespace {

struct Signs {
  std::optional<std::int64_t> diverged{};  ///< step at which the loss was no number
  std::vector<std::int64_t> spikes{};      ///< steps at which spikes of the loss begin that tell
  std::size_t all = 0;                     ///< spikes of the loss
  std::size_t watched = 0;                 ///< training losses that were looked at
  const store::StepValue* lambda = nullptr;
  double limit = 0;          ///< that λ1 is held against
  bool limit_holds = false;  ///< λ1 is what this optimiser sees, and the limit its own
};

Signs signs_of(const Arm& arm) {
  Signs signs;
  signs.diverged = diverged_at(arm);
  const auto& losses = arm.series(id::kLossTrain);
  signs.watched = losses.size();
  signs.all = loss_spikes(arm).size();
  for (const Spike& spike : telling_spikes(arm)) signs.spikes.push_back(losses[spike.begin].step);
  const auto* seen = arm.last(id::kPreconditionedLambda);
  const auto* limit = arm.last(id::kStabilityLimit);
  if (seen != nullptr && limit != nullptr && seen->step == limit->step) {
    signs.lambda = seen;
    signs.limit = limit->scalar.value;
    signs.limit_holds = is_resolved(seen->scalar);
  } else if (signs.lambda = arm.last(id::kHessianLambda.at(1)); signs.lambda != nullptr) {
    const double rate = rate_at(arm, signs.lambda->step);
    if (rate > 0) signs.limit = 2 / rate;
    signs.limit_holds =
        rate > 0 && is_resolved(signs.lambda->scalar) && arm.fact("optimizer") == "sgd";
  }
  return signs;
}

/// The loss may still fall there: the edge of stability.
bool is_at_limit(const Signs& signs) {
  return signs.limit_holds && signs.lambda->scalar.value > signs.limit;
}

Grade grade_of(const Signs& signs) {
  constexpr std::size_t kEnough = 100;  // twice the window of find_spikes
  if (signs.diverged) return Grade::kBad;
  if (!signs.spikes.empty() || is_at_limit(signs)) return Grade::kWatch;
  return signs.watched >= kEnough || signs.limit_holds ? Grade::kGood : Grade::kOpen;
}

Reading reading_of(std::size_t a, const Signs& signs) {
  Reading reading{.arm = a};
  if (signs.diverged) {
    reading.number = fmt::format("the loss is not finite from step {}", *signs.diverged);
  } else if (!signs.spikes.empty()) {
    reading.number = fmt::format("{} of the loss, the first at step {}",
                                 counted(signs.spikes.size(), "spike"),
                                 signs.spikes.front());
  } else if (signs.all > 0) {
    reading.number =
        fmt::format("{} of the loss, none far above all before", counted(signs.all, "spike"));
  } else {
    reading.number = fmt::format("no spike in {} losses", grouped(double(signs.watched)));
  }
  if (signs.limit > 0) {
    reading.interval = fmt::format("{} {}, {} of {} = {} at step {}",
                                   signs.limit_holds ? "sees λ1 =" : "λ1 =",
                                   words(signs.lambda->scalar.value),
                                   percent(signs.lambda->scalar.value / signs.limit),
                                   signs.limit_holds ? "its limit" : "2/rate",
                                   words(signs.limit),
                                   signs.lambda->step);
  }
  return reading;
}

std::string explained(const Signs& signs, Grade grade) {
  if (grade == Grade::kBad) return "Lower train.learning-rate, or lengthen train.warmup.";
  if (!signs.spikes.empty()) {
    return "A spike is a training loss 8 robust deviations above the 50 calm ones before it; here "
           "those count that are far above all before, as fewer than 1 in 100 healthy runs of "
           "5,000 "
           "steps has one. A lower rate or a longer warm-up would show whether the rate makes "
           "them.";
  }
  if (signs.limit_holds)
    return "The limit follows from the rate and the momentum: 2/rate for gradient descent, "
           "(2 + 2β)/rate with momentum, (2 + 2β1)/((1 − β1) rate) for Adam. Above it the "
           "optimiser overshoots along the sharpest direction; training often rises to it and "
           "stays there, with a smaller rate too.";
  if (grade == Grade::kOpen) return "Too few losses are stored to look for spikes.";
  return "The loss shows no sign of it. 2/rate is the limit of plain gradient descent; this "
         "optimiser has another, which was not measured.";
}

}  // namespace

Answer learning_rate(const std::vector<Arm>& arms) {
  Answer out{.id = "learning_rate",
             .question = "Is the learning rate too high?",
             .figure = "hessian_eigenvalues"};
  std::vector<std::pair<std::size_t, Signs>> found;
  for (std::size_t a = 0; a < arms.size(); ++a) {
    if (!arms[a].series(id::kLossTrain).empty() || !arms[a].events.empty())
      found.emplace_back(a, signs_of(arms[a]));
  }
  if (found.empty()) {
    out.answer = "cannot tell";
    out.why = "No training loss was stored.";
    return out;
  }
  std::ranges::stable_sort(
      found, [](const auto& x, const auto& y) { return grade_of(x.second) > grade_of(y.second); });
  for (const auto& [a, signs] : found) out.readings.push_back(reading_of(a, signs));
  const Signs& first = found.front().second;
  out.grade = grade_of(first);
  out.answer = out.grade == Grade::kBad     ? "yes"
               : out.grade == Grade::kWatch ? is_at_limit(first) ? "at its limit" : "perhaps"
               : out.grade == Grade::kGood  ? "no sign of it"
                                            : "cannot tell";
  out.why = explained(first, out.grade);
  return out;
}

}  // namespace kappascope::reports
