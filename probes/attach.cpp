// SPDX-License-Identifier: Apache-2.0
#include "kappascope/probes/attach.h"

#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/version.h>

#include "kappascope/core/require.h"
#include "kappascope/core/time.h"
#include "kappascope/core/version.h"
#include "kappascope/nn/tapped_linear.h"
#include "kappascope/probes/feature_moments.h"
#include "kappascope/probes/gradient_variance.h"
#include "kappascope/probes/intercept.h"
#include "kappascope/train/state_file.h"

namespace kappascope::probes {

std::vector<train::ScheduledProbe> standard_probes(const torch::nn::Module& model,
                                                   const ProbeOptions& options) {
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
  const train::Schedule schedule{options.every, options.window, options.last_step, options.budget};
  std::vector<train::ScheduledProbe> probes;
  if (options.features) {
    linalg::MomentOptions moments;
    moments.sample_rows = options.sample_rows;
    probes.push_back({std::make_unique<FeatureMoments>(moments), schedule});
  }
  if (options.intercept) probes.push_back({std::make_unique<Intercept>(), schedule});
  if (options.gradient_variance)
    probes.push_back({std::make_unique<GradientVarianceProbe>(), schedule});
  if (options.hessian && options.curvature_loss) {
    const auto every = options.hessian_every > 0 ? options.hessian_every : 10 * options.every;
    auto parameters = [&model, pattern = options.parameters] {
      return curvature::select_parameters(model, pattern);
    };
    parameters();  // a pattern that matches nothing is said now, not at the first spectrum
    probes.push_back(
        {std::make_unique<HessianSpectrum>(options.curvature_loss, parameters, options.spectrum),
         {every, 1, options.last_step, options.hessian_budget}});
  }
  return probes;
}

store::Facts standard_facts(const torch::nn::Module& model) {
  int64_t count = 0;
  std::string device = "cpu";
  for (const auto& parameter : model.parameters()) {
    count += parameter.numel();
    device = parameter.device().str();
  }
  return {{"version", std::string(version())},
          {"created", utc_now()},
          {"torch", TORCH_VERSION},
          {"device", device},
          {"threads", std::to_string(at::get_num_threads())},
          {"parameters", std::to_string(count)}};
}

namespace {

std::filesystem::path free_name(const std::filesystem::path& dir, ExistingRun existing) {
  auto name = dir;
  for (int i = 2; store::RunWriter::holds_run(name); ++i) {
    require(existing == ExistingRun::kNewName,
            "{} already holds a run: attach to another directory, go on in it with "
            "probes::resume(), or set ProbeOptions::existing to kNewName",
            dir.string());
    name = dir;
    name += fmt::format("-{}", i);
  }
  return name;
}

}  // namespace

std::unique_ptr<train::Session> attach(torch::nn::Module& model,
                                       const std::filesystem::path& dir,
                                       const ProbeOptions& options,
                                       const store::Facts& facts,
                                       const train::SessionOptions& session) {
  auto all = standard_facts(model);
  all.insert(all.end(), facts.begin(), facts.end());
  auto probes = standard_probes(model, options);
  // Said before the run is made, so that the corrected program finds its directory free.
  require(!nn::find_tapped(model).empty(),
          "the model has no kappascope::nn::TappedLinear to watch: use one in place of the "
          "torch::nn::Linear that is the down-projection");
  return std::make_unique<train::Session>(
      model,
      store::RunWriter::create(free_name(dir, options.existing), all),
      std::move(probes),
      session);
}

std::unique_ptr<train::Session> resume(torch::nn::Module& model,
                                       const std::filesystem::path& dir,
                                       const std::filesystem::path& file,
                                       const ProbeOptions& options,
                                       const train::SessionOptions& session) {
  auto probes = standard_probes(model, options);
  const auto state = train::read_state(file);
  // Said before anything is taken out of the run.
  require(
      state.has("step"), "{} holds no session: write one with session->save(file)", file.string());
  for (const auto& scheduled : probes) {
    require(state.has(std::string(scheduled.probe->name())),
            "{} holds no state of probe {}: resume with the probes that the run was started with",
            file.string(),
            scheduled.probe->name());
  }
  auto resumed = std::make_unique<train::Session>(
      model, store::RunWriter::resume(dir, state.integer("step") - 1), std::move(probes), session);
  resumed->load(state);
  return resumed;
}

}  // namespace kappascope::probes
