// SPDX-License-Identifier: Apache-2.0
// Is the learning rate too high? Only the loss itself can say so, and the sharpness against the
// optimiser's own limit.
#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "reports/diagnosis/questions.h"
#include "reports/runs/groups.h"

namespace kappascope::reports {
namespace {

constexpr std::size_t kEnough = 100;  // losses: twice the window of find_spikes

/// A λ1 that is resolved, or of which an iteration that ended early knows which side it is on.
std::optional<Stability::Reading> reading_of(const store::StepValue& point, double limit) {
  const auto& [step, lambda] = point;
  if (!std::isfinite(lambda.value) || !(limit > 0)) return std::nullopt;
  Stability::Reading out{step, lambda, limit};
  if (is_resolved(lambda)) return out;
  if (lambda.status != store::Status::kMaxProducts || !lambda.lower || !lambda.upper)
    return std::nullopt;
  const Side side = side_of(*lambda.lower, *lambda.upper, limit);
  if (side == Side::kUndecided) return std::nullopt;
  out.bound = side;
  out.lambda.value = side == Side::kBelow ? *lambda.upper : *lambda.lower;
  return out;
}

void decide(RateDiagnosis& out) {
  const auto& stability = out.stability;
  const Side side = stability.holds ? stability.side() : Side::kUndecided;
  if (out.diverged) {
    out.verdict = Verdict::kDiverged, out.grade = Grade::kBad;
  } else if (out.rise) {
    out.verdict = Verdict::kRose, out.grade = Grade::kBad;
  } else if (side == Side::kAbove) {
    out.verdict = Verdict::kAtLimit, out.grade = Grade::kWatch;
  } else if (!out.spikes.empty()) {
    out.verdict = Verdict::kSpikes, out.grade = Grade::kWatch;
  } else if (stability.holds ? side == Side::kBelow : out.losses >= kEnough) {
    out.verdict = Verdict::kFine, out.grade = Grade::kGood;
  } else if (stability.holds || out.losses > 0) {
    out.verdict = Verdict::kUndecided;
  }
}

RateDiagnosis rate_of(const Arm& run) {
  RateDiagnosis out;
  out.question = Question::kLearningRate;
  out.run = &run;
  out.diverged = diverged_at(run);
  const auto& losses = run.series(id::kLossTrain);
  out.losses = static_cast<std::size_t>(
      std::ranges::count_if(losses.values(), [](double loss) { return std::isfinite(loss); }));
  out.all_spikes = run.spikes.size();
  out.spikes = telling_spikes(run);
  out.stability = stability_of(run);
  out.rise = rise_of(run);
  decide(out);
  if (out.diverged) out.evidence.push_back({id::kLossTrain, "", *out.diverged});
  if (out.stability.holds && !out.diverged && !out.rise) {
    const auto& most = out.stability.most();
    out.value = most.lambda.value;
    out.lower = most.lambda.lower;
    out.upper = most.lambda.upper;
    out.threshold = most.limit;
    out.evidence.push_back({most.lambda.name, "", most.step});
  }
  if (out.rise) out.evidence.insert(out.evidence.begin(), {id::kLossTrain, "", run.last_step});
  for (const auto& spike : out.spikes)
    out.evidence.push_back({id::kLossTrain, "", losses.steps()[spike.begin]});
  if (out.grade < Grade::kWatch) return out;
  const bool early = !out.diverged && !out.spikes.empty() &&
                     is_of_the_start(run, losses.steps()[out.spikes.front().begin]);
  out.action = early                               ? Action::kWarmUp
               : out.is_below_limit() && !out.rise ? Action::kCheckBatch
                                                   : Action::kLowerRate;
  return out;
}

}  // namespace

double rate_at(const Arm& run, std::int64_t step) {
  const auto& rates = run.series(id::kLearningRate);
  const auto after = std::ranges::upper_bound(rates.steps(), step) - rates.steps().begin();
  return after == 0 ? 0 : rates.values()[static_cast<std::size_t>(after) - 1];
}

std::optional<std::int64_t> diverged_at(const Arm& run) {
  const auto found = std::ranges::find_if(
      run.events, [](const store::StepEvent& event) { return event.event.kind == "nan_loss"; });
  return found == run.events.end() ? std::nullopt : std::optional(found->step);
}

std::optional<Rise> rise_of(const Arm& run) {
  constexpr double kTimes = 2, kLeast = 1;
  constexpr std::size_t kFewest = 20;  // losses
  std::vector<double> losses;
  for (const double loss : run.series(id::kLossTrain).values())
    if (std::isfinite(loss)) losses.push_back(loss);
  if (losses.size() < kFewest) return std::nullopt;
  std::vector<double> end(losses.end() - static_cast<std::ptrdiff_t>(losses.size() / 10),
                          losses.end());
  std::ranges::sort(end);
  // Nine of ten of them, so that a spike at the end is none.
  const double bar = std::max(kTimes * losses.front(), kLeast);
  if (!(end[end.size() / 10] > bar)) return std::nullopt;
  constexpr double kBeyondDoubt = 1000;
  Rise out{losses.front(), end[end.size() / 2]};
  out.beyond_doubt = out.last > kBeyondDoubt * std::max(out.first, kLeast);
  return out;
}

std::string Stability::name() const {
  return own ? "preconditioned sharpness" : "sharpness λ1";
}

const Stability::Reading& Stability::most() const {
  return *std::ranges::max_element(readings, {}, [](const Reading& reading) {
    return std::tuple(reading.side() == Side::kAbove, reading.share());
  });
}

Side Stability::side() const {
  const auto any = [&](Side side) {
    return std::ranges::find(readings, side, &Reading::side) != readings.end();
  };
  return any(Side::kAbove)                           ? Side::kAbove
         : any(Side::kUndecided) || readings.empty() ? Side::kUndecided
                                                     : Side::kBelow;
}

Stability descent_stability_of(const Arm& run) {
  Stability out;
  for (const auto& point : run.series(id::kHessianLambda.at(1))) {
    const double rate = rate_at(run, point.step);
    if (auto reading = reading_of(point, rate > 0 ? 2 / rate : 0))
      out.readings.push_back(std::move(*reading));
  }
  out.holds = !out.readings.empty() && run.fact("optimizer") == "sgd";
  return out;
}

Stability stability_of(const Arm& run) {
  Stability out{.own = true, .holds = true};
  const auto& limits = run.series(id::kStabilityLimit);
  for (const auto& point : run.series(id::kPreconditionedLambda)) {
    const auto limit = limits.number_at(point.step);
    if (auto reading = reading_of(point, limit ? limit->scalar.value : 0))
      out.readings.push_back(std::move(*reading));
  }
  return out.readings.empty() ? descent_stability_of(run) : out;
}

RateDiagnosis diagnose_rate(const Arm& arm) {
  std::vector<RateDiagnosis> all;
  for (const Arm* run : runs_of(arm)) all.push_back(rate_of(*run));
  auto worst = std::ranges::max_element(all, {}, &RateDiagnosis::grade);
  worst->runs = all.size();
  worst->alike =
      static_cast<std::size_t>(std::ranges::count(all, worst->grade, &RateDiagnosis::grade));
  return *worst;
}

}  // namespace kappascope::reports
