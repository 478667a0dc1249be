// SPDX-License-Identifier: Apache-2.0
// Is the learning rate too high? Only the loss itself and, for plain gradient descent, the
// sharpness can say so.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/spikes.h"
#include "reports/findings/stability.h"
#include "reports/runs/groups.h"
#include "reports/summary/answers.h"

namespace kappascope::reports {
namespace {

struct Signs {
  std::size_t runs = 1, alike = 1;         ///< of an arm, and of these the ones that are as bad
  std::optional<std::int64_t> diverged{};  ///< step at which the loss was no number
  std::vector<std::int64_t> spikes{};      ///< steps at which spikes of the loss begin that tell
  std::size_t all = 0;                     ///< spikes of the loss
  std::size_t watched = 0;                 ///< training losses that were looked at
  Stability stability{};
};

Signs signs_of(const Arm& arm) {
  Signs signs;
  signs.diverged = diverged_at(arm);
  const auto& losses = arm.series(id::kLossTrain);
  signs.watched = static_cast<std::size_t>(std::ranges::count_if(
      losses, [](const auto& loss) { return std::isfinite(loss.scalar.value); }));
  signs.all = loss_spikes(arm).size();
  for (const Spike& spike : telling_spikes(arm)) signs.spikes.push_back(losses[spike.begin].step);
  signs.stability = stability_of(arm);
  return signs;
}

Grade grade_of(const Signs& signs) {
  constexpr std::size_t kEnough = 100;  // twice the window of find_spikes
  if (signs.diverged) return Grade::kBad;
  if (!signs.spikes.empty() || signs.stability.is_at_limit()) return Grade::kWatch;
  return signs.watched >= kEnough || signs.stability.holds ? Grade::kGood : Grade::kOpen;
}

/// Of several runs the first of the worst.
Signs signs_of_arm(const Arm& arm) {
  std::vector<Signs> all;
  for (const Arm* run : runs_of(arm)) all.push_back(signs_of(*run));
  auto worst = std::ranges::max_element(all, {}, grade_of);
  worst->runs = all.size();
  worst->alike = static_cast<std::size_t>(std::ranges::count(all, grade_of(*worst), grade_of));
  return *worst;
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
  } else if (signs.watched == 0) {
    reading.number = "no loss was stored";
  } else {
    reading.number = fmt::format("no spike in {} losses", grouped(double(signs.watched)));
  }
  if (signs.runs > 1)
    reading.number += fmt::format(" ({} of {} seeds are like that)", signs.alike, signs.runs);
  if (const auto& stability = signs.stability; !stability.readings.empty()) {
    const auto& most = stability.most();
    const auto told = most.in_words();
    reading.interval = fmt::format("{} {}, {} of {} = {} at step {}{}",
                                   stability.own ? "sees λ1 =" : "λ1 =",
                                   told.a,
                                   told.relation,
                                   stability.holds ? "its limit" : "2/rate",
                                   told.b,
                                   most.step,
                                   stability.readings.size() > 1 ? ", the most of it" : "");
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
  if (signs.stability.holds)
    return "The limit follows from the rate and the momentum: 2/rate for gradient descent, "
           "(2 + 2β)/rate with momentum, (2 + 2β1)/((1 − β1) rate) for Adam. Above it the "
           "optimiser overshoots along the sharpest direction; training often rises to it and "
           "stays there, with a smaller rate too.";
  if (signs.watched == 0) return "No training loss was stored.";
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
      found.emplace_back(a, signs_of_arm(arms[a]));
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
  out.answer = out.grade == Grade::kBad ? "yes"
               : out.grade == Grade::kWatch
                   ? first.stability.is_at_limit() ? "at its limit" : "perhaps"
               : out.grade == Grade::kGood ? "no sign of it"
                                           : "cannot tell";
  out.why = explained(first, out.grade);
  if (!first.stability.coverage.empty()) out.why += " λ1: " + first.stability.coverage;
  return out;
}

}  // namespace kappascope::reports
