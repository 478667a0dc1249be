// SPDX-License-Identifier: Apache-2.0
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <utility>

#include "core/require.h"
#include "kappascope/nn/tapped_linear.h"
#include "kappascope/probes/attach.h"
#include "session/passes.h"
#include "tensor/safetensors/state_file.h"

namespace kappascope::probes {
namespace {

void require_taps(torch::nn::Module& model, const std::vector<session::ScheduledProbe>& probes) {
  if (!nn::find_tapped(model).empty()) return;
  for (const auto& scheduled : probes) {
    const auto* probe = scheduled.probe.get();
    require(!(probe->needs().features || probe->needs().output_gradients),
            "probe {} watches down-projections, but the model has no kappascope::nn::TappedLinear: "
            "use one in place of the torch::nn::Linear that is the down-projection",
            probe->name());
  }
}

/// The weight of the linear layer of that name beside the down-projection `down`, if it has one row
/// for each of the features.
at::Tensor beside(const torch::OrderedDict<std::string, at::Tensor>& parameters,
                  const std::string& down,
                  int64_t features,
                  const std::string& name) {
  const auto parent = down.rfind('.');
  const auto prefix = parent == std::string::npos ? "" : down.substr(0, parent + 1);
  const auto* found = parameters.find(prefix + name + ".weight");
  if (found == nullptr || found->dim() != 2 || found->size(0) != features) return {};
  return found->detach();
}

session::SessionOptions with_layers(torch::nn::Module& model, session::SessionOptions options) {
  for (const auto& [name, layer] : nn::find_tapped(model)) {
    options.widths.push_back(layer->weight.size(1));
    options.device = layer->weight.device();
  }
  return options;
}

}  // namespace

TappedSession::TappedSession(torch::nn::Module& model,
                             std::optional<store::RunWriter> run,
                             std::vector<session::ScheduledProbe> probes,
                             session::SessionOptions options)
    : Session(std::move(run),
              (require_taps(model, probes), std::move(probes)),
              with_layers(model, std::move(options))),
      model_(model) {
  TappedSession::listen(needs());
}

TappedSession::~TappedSession() {
  TappedSession::listen({});
}

void TappedSession::save(const std::filesystem::path& file) {
  tensor::write_state(file, state());
}

void TappedSession::listen(const session::Needs& needs) {
  if (!needs.features && !needs.output_gradients) {
    if (!listening_) return;
    for (const auto& [name, layer] : nn::find_tapped(model_)) layer->tap.silence();
    listening_ = false;
    return;
  }
  listening_ = true;
  const auto parameters = model_.named_parameters();
  for (const auto& [name, layer] : nn::find_tapped(model_)) {
    const auto features = layer->weight.size(1);
    layer->tap.listen([passes = passes(),
                       gradients = needs.output_gradients,
                       gates = needs.gates,
                       layer_name = name,
                       gate = beside(parameters, name, features, "gate_proj"),
                       up =
                           beside(parameters, name, features, "up_proj")](const nn::TapView& view) {
      // Evaluation and the first pass of a recomputed block run without gradients; a token counts
      // once.
      if (!torch::GradMode::is_enabled()) return;
      const auto number = passes->forward({layer_name,
                                           view.features.detach(),
                                           view.bias.defined() ? view.bias.detach() : at::Tensor(),
                                           view.dropout,
                                           at::Tensor(),
                                           view.output.requires_grad(),
                                           view.weight.detach(),
                                           view.branch,
                                           gate,
                                           up,
                                           gates ? view.gate_inputs : at::Tensor()});
      if (!view.output.requires_grad()) return;
      view.output.register_hook([passes, gradients, number](const at::Tensor& gradient) {
        passes->backward(number, gradients ? gradient : at::Tensor());
      });
    });
  }
}

}  // namespace kappascope::probes
