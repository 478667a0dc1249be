// SPDX-License-Identifier: Apache-2.0
#include "session/passes.h"

#include <torch/types.h>

#include <utility>

namespace kappascope::session {

std::int64_t Passes::forward(Pass pass) {
  Seen seen;
  // A backward pass between two forward passes makes them two passes of gradient accumulation;
  // without one the layer is used twice in one (shared weights).
  auto& layer = layers_[pass.layer];
  if (const auto last = passes_.find(layer.last); last != passes_.end())
    seen.use = last->second.complete ? 0 : last->second.use + 1;
  seen.all = pass.features.numel() / pass.features.size(-1);
  auto& rows = layer.rows.emplace(seen.use, 0).first->second;
  seen.kept = limit_ == 0 || rows < limit_;
  const auto gates = std::exchange(pass.gate_inputs, {});
  if (seen.kept) {
    rows += seen.all;
    if (gates.defined()) seen.gates = tensor::sample_gates(gates, pass.mask);
  } else {
    pass.features = at::Tensor();
  }
  seen.pass = std::move(pass);
  layer.last = next_;
  passes_.emplace_hint(passes_.end(), next_, std::move(seen));
  return next_++;
}

void Passes::backward(std::int64_t number, const at::Tensor& gradient) {
  const auto found = passes_.find(number);
  if (found == passes_.end()) return;
  found->second.complete = true;
  if (!gradient.defined() || !found->second.kept) return;
  // Several losses of one graph, each with a pass of its own: the step's gradient is their sum.
  auto& sum = found->second.gradient;
  sum = sum.defined() ? sum + gradient.detach() : gradient.detach();
}

std::int64_t Passes::attend(const std::string& layer,
                            const tensor::Attention& input,
                            bool in_graph) {
  return attentions_.add(
      layer,
      [&] {
        return AttentionView{layer, tensor::sampled(input)};
      },
      in_graph);
}

std::int64_t Passes::route(const std::string& router,
                           const tensor::RouterPass& pass,
                           bool in_graph) {
  return routers_.add(
      router,
      [&] {
        return RouterView{router, tensor::sample_routing(pass)};
      },
      in_graph);
}

void Passes::discard_gradients() {
  for (auto& [number, seen] : passes_) {
    if (!seen.complete) continue;
    seen.complete = false;
    seen.gradient = at::Tensor();
    auto& layer = layers_.at(seen.pass.layer);
    if (layer.last == number) layer.last = -1;
    if (seen.kept) layer.rows.at(seen.use) -= seen.all;
  }
  attentions_.discard_gradients();
  routers_.discard_gradients();
}

void Passes::clear() {
  passes_.clear();
  layers_.clear();
  attentions_.clear();
  routers_.clear();
}

std::int64_t Passes::Seen::rows() const {
  return pass.mask.defined() ? pass.mask.sum().item<std::int64_t>() : all;
}

std::vector<LayerView> Passes::take(LossReduction reduction, double terms) {
  std::erase_if(passes_, [](const auto& item) {
    const auto& [number, seen] = item;
    return seen.pass.in_graph && !seen.complete;
  });
  // Uses are counted from the first that is left.
  std::map<std::string, std::pair<int, int>> before;  // a layer's last use, and what is the first
  for (auto& [number, seen] : passes_) {
    const auto [last, is_first] = before.try_emplace(seen.pass.layer, seen.use, seen.use);
    auto& [use, first] = last->second;
    if (!is_first && seen.use <= use) first = seen.use;
    use = seen.use;
    seen.use -= first;
  }
  // Each pass's loss is a mean over its own rows, weighted so that the step's passes add up to the
  // mean over the rows of all: a row's share is one over these.
  std::map<std::string, std::int64_t> rows;
  for (const auto& [number, seen] : passes_) {
    if (seen.use == 0) rows[seen.pass.layer] += seen.rows();
  }
  std::vector<LayerView> views;
  for (const auto& [number, seen] : passes_) {
    if (!seen.kept) continue;
    const auto& phi = seen.pass.features;
    LayerView view;
    view.name = seen.pass.layer;
    view.features = phi.reshape({-1, phi.size(-1)});
    view.bias = seen.pass.bias;
    view.dropout = seen.pass.dropout;
    view.weight = seen.pass.weight;
    view.branch = seen.pass.branch;
    view.gate = seen.pass.gate;
    view.up = seen.pass.up;
    view.gate_inputs = seen.gates.values;
    view.gate_mask = seen.gates.mask;
    view.use = seen.use;
    view.rows_of_step = rows.at(seen.pass.layer);
    view.rows_per_group = phi.dim() >= 3 ? phi.size(-2) : 1;
    if (seen.pass.mask.defined()) view.mask = seen.pass.mask.reshape({-1});
    if (seen.gradient.defined()) {
      const double shares = terms > 0 ? terms : static_cast<double>(rows.at(seen.pass.layer));
      view.gradient = seen.gradient.reshape({-1, seen.gradient.size(-1)})
                          .mul((reduction == LossReduction::kMean ? shares : 1.0) / scale_);
    }
    views.push_back(std::move(view));
  }
  clear();
  return views;
}

}  // namespace kappascope::session
