// SPDX-License-Identifier: Apache-2.0
#include "kappascope/probes/attach.h"

#include <torch/nn/module.h>
#include <torch/types.h>

#include "core/require.h"
#include "kappascope/nn/tapped_linear.h"
#include "tensor/safetensors/state_file.h"

namespace kappascope::probes {

std::vector<session::ScheduledProbe> standard_probes(const torch::nn::Module& model,
                                                     const ProbeOptions& options) {
  return standard_probes(
      [&model, pattern = options.parameters] {
        return curvature::select_parameters(model, pattern);
      },
      options);
}

store::Facts standard_facts(const torch::nn::Module& model) {
  int64_t count = 0;
  std::string device = "cpu";
  for (const auto& parameter : model.parameters()) {
    count += parameter.numel();
    device = parameter.device().str();
  }
  return standard_facts(device, count);
}

std::unique_ptr<TappedSession> attach(torch::nn::Module& model,
                                      const std::filesystem::path& dir,
                                      const ProbeOptions& options,
                                      const store::Facts& facts,
                                      const session::SessionOptions& session) {
  auto all = standard_facts(model);
  all.insert(all.end(), facts.begin(), facts.end());
  auto probes = standard_probes(model, options);
  // Said before the run is made, so that the corrected program finds its directory free.
  require(!nn::find_tapped(model).empty(),
          "the model has no kappascope::nn::TappedLinear to watch: use one in place of the "
          "torch::nn::Linear that is the down-projection");
  return std::make_unique<TappedSession>(
      model, new_run(dir, options.existing, all, session.group.get()), std::move(probes), session);
}

std::unique_ptr<TappedSession> resume(torch::nn::Module& model,
                                      const std::filesystem::path& dir,
                                      const std::filesystem::path& file,
                                      const ProbeOptions& options,
                                      const session::SessionOptions& session) {
  auto probes = standard_probes(model, options);
  const auto state = tensor::read_state(file);
  // Said before anything is taken out of the run.
  require(
      state.has("step"), "{} holds no session: write one with session->save(file)", file.string());
  auto resumed = std::make_unique<TappedSession>(
      model, store::RunWriter::resume(dir, state.integer("step") - 1), std::move(probes), session);
  resumed->load(state);
  return resumed;
}

}  // namespace kappascope::probes
