// SPDX-License-Identifier: Apache-2.0
#include "train/captures.h"

#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <map>
#include <string>
#include <utility>

#include "kappascope/nn/tapped_linear.h"

namespace kappascope::train {

// What one forward pass of one layer left behind; the gradient arrives with the backward pass.
struct Captures::Capture {
  std::string name;
  at::Tensor features, bias, gradient;
  double dropout = 0;
  bool complete = false;  // the backward pass came by
  int use = 0;            // of the layer, in this pass

  [[nodiscard]] int64_t rows() const { return features.numel() / features.size(-1); }
};

void Captures::listen(bool gradients) {
  for (const auto& [name, layer] : nn::find_tapped(model_)) {
    layer->tap.listen([this, gradients, layer_name = name](const nn::TapView& view) {
      // Evaluation and the first pass of a recomputed block run without gradients; a token counts
      // once.
      if (!torch::GradMode::is_enabled()) return;
      auto capture = std::make_shared<Capture>();
      capture->name = layer_name;
      // A backward pass between two forward passes makes them two passes of gradient accumulation;
      // without one the layer is used twice in one (shared weights).
      for (const auto& before : captures_) {
        if (before->name == layer_name) capture->use = before->complete ? 0 : before->use + 1;
      }
      capture->features = view.features.detach();
      capture->dropout = view.dropout;
      if (view.bias.defined()) capture->bias = view.bias.detach();
      if (view.output.requires_grad()) {
        view.output.register_hook([capture, gradients](const at::Tensor& gradient) {
          capture->complete = true;
          if (gradients) capture->gradient = gradient;
        });
      }
      captures_.push_back(std::move(capture));
    });
  }
  listening_ = true;
}

void Captures::silence() {
  if (!listening_) return;
  for (const auto& [name, layer] : nn::find_tapped(model_)) layer->tap.silence();
  listening_ = false;
}

std::vector<LayerView> Captures::take(LossReduction reduction) {
  // Each pass's loss is a mean over its own rows, weighted so that the step's passes add up to the
  // mean over the rows of all: a row's share is one over these.
  std::map<std::string, int64_t> rows;
  for (const auto& capture : captures_) {
    if (capture->use == 0) rows[capture->name] += capture->rows();
  }
  std::vector<LayerView> views;
  for (const auto& capture : captures_) {
    const auto& phi = capture->features;
    LayerView view;
    view.name = capture->name;
    view.features = phi.reshape({-1, phi.size(-1)});
    view.bias = capture->bias;
    view.dropout = capture->dropout;
    view.use = capture->use;
    view.rows_per_group = phi.dim() >= 3 ? phi.size(-2) : 1;
    if (capture->gradient.defined()) {
      const auto gradient = capture->gradient.detach();
      const double terms =
          reduction == LossReduction::kMean ? static_cast<double>(rows.at(capture->name)) : 1.0;
      view.gradient = gradient.reshape({-1, gradient.size(-1)}).mul(terms);
    }
    views.push_back(std::move(view));
  }
  captures_.clear();
  return views;
}

}  // namespace kappascope::train
