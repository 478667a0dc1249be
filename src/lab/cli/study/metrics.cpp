// SPDX-License-Identifier: Apache-2.0
#include "lab/cli/study/metrics.h"

#include <fmt/format.h>

#include <map>
#include <string>

#include "core/notice.h"
#include "kappascope/core/error.h"
#include "kappascope/store/schema/layer_probes.h"
#include "lab/cli/settings_options.h"
#include "lab/cli/study/runs.h"
#include "lab/study/metrics.h"

namespace kappascope::cli {
namespace {

using store::Emitter;

std::string off(bool on, const std::string& setting) {
  return on ? "" : setting + " is false";
}

/// Which setting keeps a run from recording the metric; empty where none does.
std::string why_not_recorded(const std::string& metric, const Settings& settings) {
  const auto* basis = store::find_series(study::basis_of(metric));
  if (basis == nullptr) return "";  // one of the user's own
  switch (basis->emitter) {
    case Emitter::kTraining:
      return "";
    case Emitter::kClassification:
      if (settings.train.kind != "mlp") return "model.kind is " + settings.train.kind;
      return store::id::kAccuracyTest == basis->name || settings.train.attack_rows > 0
                 ? ""
                 : "attack.rows is 0";
    case Emitter::kLayerProbe: {
      const auto& probe = store::layer_probe(basis->probe);
      const auto& bias = settings.train.bias;
      if (probe.of_the_bias && (bias == "none" || bias == "output")) return "model.bias is " + bias;
      return off(settings.probes.layer_probes[probe.name], setting_of(probe));
    }
    case Emitter::kHessian:
      return off(settings.probes.hessian, "probes.hessian");
    case Emitter::kCriticalStep:
      return off(settings.probes.critical_step, "probes.critical-step");
    case Emitter::kSpectrum:
      return "only `kappascope spectrum` records it";
  }
  return "";
}

/// The settings without what only names the run.
std::string training_of(Settings settings) {
  settings.train.label.clear();
  settings.condition.clear();
  return to_ini(settings);
}

}  // namespace

void check_runs(const study::StudyDefinition& definition,
                const std::vector<study::StudyRun>& runs) {
  auto metrics = definition.metrics;
  for (const auto& [claim, regime] : definition.regimes) metrics.push_back(regime.metric);
  std::map<std::string, const study::StudyRun*> trainings;
  for (const auto& run : runs) {
    if (run.seed != runs.front().seed) continue;  // the same settings but for the seed
    const auto settings = settings_of(run, definition.name);
    for (const auto& metric : metrics) {
      const auto why = why_not_recorded(metric, settings);
      if (!why.empty()) {
        throw UsageError(fmt::format(
            "{}: the run {} would not record {}: {}", definition.name, run.name, metric, why));
      }
    }
    const auto [same, is_new] = trainings.emplace(training_of(settings), &run);
    if (is_new) continue;
    const auto text = fmt::format(
        "{}: {} and {} would be the same training", definition.name, same->second->name, run.name);
    if (same->second->arm == run.arm) throw UsageError(text + "; leave one condition out");
    notice("kappascope: warning: {}\n", text);  // two names of one thing may be meant
  }
}

}  // namespace kappascope::cli
