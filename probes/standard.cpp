// SPDX-License-Identifier: Apache-2.0
#include "kappascope/probes/standard.h"

#include <fmt/format.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <torch/version.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "kappascope/core/place.h"
#include "kappascope/core/require.h"
#include "kappascope/core/time.h"
#include "kappascope/core/version.h"
#include "kappascope/probes/feature_moments.h"
#include "kappascope/probes/gradient_variance.h"
#include "kappascope/probes/intercept.h"
#include "kappascope/probes/learning_time.h"

namespace kappascope::probes {
namespace {

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

/// A part of the budget among probes, by what each costs.
void share_out(std::span<session::ScheduledProbe> probes, double of_all) {
  constexpr double kLeast = 1e-8;  // of a probe that costs nothing
  const auto part = [](const session::ScheduledProbe& scheduled) {
    return kLeast + std::max(0.0, scheduled.probe->presumed_cost());
  };
  double whole = 0;
  for (const auto& scheduled : probes) whole += part(scheduled);
  for (auto& scheduled : probes) {
    scheduled.budget_part = of_all * part(scheduled) / whole;
    scheduled.schedule.budget *= scheduled.budget_part;
  }
}

}  // namespace

std::vector<session::ScheduledProbe> standard_probes(
    const std::function<curvature::NamedParameters()>& parameters, const ProbeOptions& options) {
  if (options.every < 1 || options.window < 1 || options.window > options.every) {
    throw UsageError(
        fmt::format("probes.window must lie between 1 and probes.every, got window {} and every {}",
                    options.window,
                    options.every));
  }
  if (!(options.budget >= 0) || !(options.hessian_budget >= 0)) {
    throw UsageError("a probe's budget must not be negative");
  }
  if (options.sample_rows < 0) throw UsageError("probes.sample-rows must not be negative");
  if (options.spectrum.top < 1 || !(options.spectrum.tolerance > 0)) {
    throw UsageError("probes.hessian-top must be at least 1 and probes.hessian-tolerance positive");
  }
  std::vector<session::ScheduledProbe> probes;
  const auto add = [&](std::unique_ptr<session::Probe> probe) {
    const session::Schedule schedule{
        options.every, options.window, options.last_step, options.budget};
    probes.push_back({std::move(probe), schedule, "probes.budget, in Python budget"});
  };
  if (options.learning) add(std::make_unique<LearningTime>());
  if (options.features) {
    linalg::MomentOptions moments;
    moments.sample_rows = options.sample_rows;
    add(std::make_unique<FeatureMoments>(moments));
  }
  if (options.intercept) add(std::make_unique<Intercept>());
  if (options.gradient_variance) add(std::make_unique<GradientVarianceProbe>());
  // Learning times are what a report answers first, and what wide layers resolve.
  constexpr double kOfLearning = 0.75;
  const std::size_t first = options.learning ? 1 : 0;
  const double part = first == 1 && probes.size() > 1 ? kOfLearning : 1;
  share_out(std::span(probes).first(first), part);
  share_out(std::span(probes).subspan(first), first == 1 ? 1 - part : 1);
  if (options.hessian && (options.curvature_loss || options.curvature_operator)) {
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
         {every, 1, options.last_step, options.hessian_budget},
         "probes.hessian-budget, in Python half of budget"});
  }
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
