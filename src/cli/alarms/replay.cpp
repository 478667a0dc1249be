// SPDX-License-Identifier: Apache-2.0
#include "cli/alarms/replay.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kappascope/core/spikes.h"
#include "kappascope/session/alarms_watch.h"

namespace kappascope::cli {
namespace {

namespace id = store::id;

/// What was written of each step.
std::map<std::int64_t, store::Snapshot> snapshots_of(const store::RunReader& run) {
  std::map<std::int64_t, store::Snapshot> out;
  for (const auto& key : run.series()) {
    for (auto& [step, scalar] : run.scalars(key)) {
      auto& snapshot = out[step];
      snapshot.step = step;
      snapshot.scalars.push_back(std::move(scalar));
    }
  }
  return out;
}

std::vector<std::int64_t> rises(const std::vector<store::StepValue>& points) {
  constexpr double kDeviations = 2;
  SpikeDetector detector({.threshold = kDeviations, .end = kDeviations / 2});
  std::vector<std::int64_t> steps;
  for (const auto& [step, scalar] : points) {
    if (detector.add(scalar.value) == SpikeDetector::Place::kBegin) steps.push_back(step);
  }
  return steps;
}

}  // namespace

study::WatchedTraining replayed(const store::RunReader& run) {
  study::WatchedTraining out;
  const auto told = [](std::int64_t step) { return step - kFirstTold; };
  const auto losses = run.scalars({id::kLossTrain, ""});
  std::vector<double> values;
  values.reserve(losses.size());
  for (const auto& point : losses) values.push_back(point.scalar.value);
  for (const auto& spike : find_spikes(values)) {
    out.spikes.emplace_back(told(losses[spike.begin].step),
                            told(losses[spike.begin + spike.length - 1].step));
  }
  if (!losses.empty()) out.steps = std::max<std::int64_t>(0, told(losses.back().step + 1));
  out.alarms = {{kLossRule, rises(losses)},
                {kNormRule, rises(run.scalars({id::kGradientNorm, ""}))}};
  for (const auto& alarm : store::alarms()) out.alarms[std::string(alarm.name)];
  session::AlarmsWatch rules;
  session::AlarmOptions options{.kappa = session::ChangeOptions{1}};
  session::AlarmsWatch variants(options);
  const auto add = [&](const std::string& rule, std::int64_t step) {
    auto& steps = out.alarms[rule];
    if (steps.empty() || steps.back() != step) steps.push_back(step);
  };
  for (const auto& [step, snapshot] : snapshots_of(run)) {
    for (const auto& alarm : rules.look(snapshot))
      add(std::string(store::info_of(alarm.id).name), step);
    for (const auto& alarm : variants.look(snapshot))
      if (alarm.id == store::AlarmId::kKappa) add(kAnyKappaRule, step);
  }
  out.alarms[kAnyKappaRule];
  for (auto& [rule, steps] : out.alarms) {
    for (auto& step : steps) step = told(step);
    std::erase_if(steps, [](std::int64_t step) { return step < 0; });
  }
  return out;
}

}  // namespace kappascope::cli
