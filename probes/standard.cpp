// SPDX-License-Identifier: Apache-2.0
#include "kappascope/probes/standard.h"

#include <fmt/format.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <torch/version.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "core/place.h"
#include "core/require.h"
#include "core/time.h"
#include "core/version.h"
#include "kappascope/store/schema/layer_probes.h"
#include "probes/critical_step.h"
#include "probes/layer_probes.h"

namespace kappascope::probes {
namespace {

constexpr const char* kBudget = "probes.budget, in Python budget";

std::filesystem::path free_directory(const std::filesystem::path& dir, ExistingRun existing) {
  auto name = dir;
  for (int i = 2; store::RunWriter::holds_run(name); ++i) {
    require(existing == ExistingRun::kNewName,
            "{} already holds a run: name another directory, or ask for the next free name "
            "(ExistingRun::kNewName); probes::resume() goes on in it",
            dir.string());
    name = dir;
    name += fmt::format("-{}", i);
  }
  return name;
}

/// A fixed part to each probe that has one, and what is left to the others by what each is presumed
/// to cost. Alone a probe has all.
void share_out(std::vector<session::ScheduledProbe>& probes, const std::vector<double>& fixed) {
  constexpr double kLeast = 1e-8;  // of a probe that costs nothing
  double left = 1, costs = 0;
  std::vector<double> parts(probes.size());
  for (std::size_t i = 0; i < probes.size(); ++i) {
    if (fixed[i] > 0)
      left -= fixed[i];
    else
      costs += parts[i] = kLeast + std::max(0.0, probes[i].probe->presumed_cost());
  }
  for (std::size_t i = 0; i < probes.size(); ++i) {
    double part = fixed[i] > 0 ? fixed[i] : left * parts[i] / costs;
    if (costs == 0) part /= 1 - left;
    probes[i].schedule.budget *= part;
  }
}

}  // namespace

ProbeSwitches::ProbeSwitches() {
  for (const auto& probe : store::layer_probes()) on_.emplace(probe.name, probe.by_default);
}

void ProbeSwitches::set(std::string_view name, bool on) {
  on_.find(store::layer_probe(name).name)->second = on;
}

bool ProbeSwitches::operator[](std::string_view name) const {
  return on_.find(store::layer_probe(name).name)->second;
}

std::vector<session::ScheduledProbe> standard_probes(
    const std::function<curvature::NamedParameters()>& parameters, const ProbeOptions& options) {
  if (options.every < 1 || options.window < 1 || options.window > options.every) {
    throw UsageError(
        fmt::format("probes.window must lie between 1 and probes.every, got window {} and every {}",
                    options.window,
                    options.every));
  }
  if (!(options.budget >= 0)) throw UsageError("probes.budget must not be negative");
  if (options.sample_rows < 0) throw UsageError("probes.sample-rows must not be negative");
  if (options.spectrum.top < 1 || !(options.spectrum.tolerance > 0)) {
    throw UsageError("probes.hessian-top must be at least 1 and probes.hessian-tolerance positive");
  }
  std::vector<session::ScheduledProbe> probes;
  std::vector<double> fixed;
  const bool spectra = options.hessian && (options.curvature_loss || options.curvature_operator);
  // Sharded parameters have an operator, and no loss that one process can evaluate.
  const bool steps = options.critical_step && options.curvature_loss && !options.curvature_operator;
  for (const auto& kind : store::layer_probes()) {
    if (!options.layer_probes[kind.name]) continue;
    probes.push_back({make_layer_probe(kind.name, options),
                      {options.every, options.window, options.last_step, options.budget},
                      kBudget});
    fixed.push_back(kind.budget_part);
  }
  double of_spectra = options.budget;
  if ((spectra || steps) && !probes.empty()) {
    of_spectra /= 2;
    for (auto& scheduled : probes) scheduled.schedule.budget /= 2;
  }
  share_out(probes, fixed);
  if (steps) {
    constexpr double kPart = 0.1;  // a few forward passes, where spectra take dozens of products
    const double budget = spectra ? kPart * of_spectra : of_spectra;
    of_spectra -= spectra ? budget : 0;
    parameters();
    probes.push_back({std::make_unique<CriticalStep>(options.curvature_loss, parameters),
                      {std::max<int64_t>(options.every, CriticalStep::kWindow),
                       CriticalStep::kWindow,
                       -1,
                       budget},
                      kBudget});
  }
  if (spectra) {
    const auto every = options.hessian_every > 0 ? options.hessian_every : 10 * options.every;
    parameters();  // a pattern that matches nothing is said now, not at the first spectrum
    HessianSpectrum::MakeOperator make =
        [loss = options.curvature_loss, operator_of = options.curvature_operator, parameters](
            tensor::Group* group, const curvature::OperatorOptions& how) {
          return operator_of ? operator_of(parameters(), group, how)
                             : curvature::hessian(loss, parameters(), how);
        };
    probes.push_back(
        {std::make_unique<HessianSpectrum>(std::move(make), parameters, options.spectrum),
         {every, 1, options.last_step, of_spectra},
         kBudget});
  }
  // What each says of a budget that would pay for its windows is said of the one that is set for
  // all.
  if (options.budget > 0)
    for (auto& scheduled : probes)
      scheduled.budget_part = scheduled.schedule.budget / options.budget;
  return probes;
}

store::Facts standard_facts(const std::string& device, std::int64_t parameters) {
  return {{"version", std::string(version())},
          {"created", utc_now()},
          {"host", host_name()},
          {"commit", commit_at(std::filesystem::current_path())},
          {"torch", TORCH_VERSION},
          {"device", device},
          {"threads", std::to_string(at::get_num_threads())},
          {"parameters", std::to_string(parameters)}};
}

std::optional<store::RunWriter> new_run(const std::filesystem::path& dir,
                                        ExistingRun existing,
                                        const store::Facts& facts,
                                        tensor::Group* group) {
  std::optional<store::RunWriter> run;
  auto all = facts;
  if (group != nullptr) all.emplace_back("processes", std::to_string(group->size()));
  tensor::in_leader(group,
                    [&] { run = store::RunWriter::create(free_directory(dir, existing), all); });
  return run;
}

}  // namespace kappascope::probes
