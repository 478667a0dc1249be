// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "kappascope/train/probe.h"
#include "kappascope/train/session.h"

namespace kappascope::train {

/// What the taps of a model let pass in one step, over all of its forward and backward passes.
class Captures {
 public:
  /// `model` must outlive this.
  explicit Captures(torch::nn::Module& model) : model_(model) {}
  Captures(const Captures&) = delete;
  Captures& operator=(const Captures&) = delete;

  /// From the next forward pass on, with gradients at the outputs where asked for.
  void listen(bool gradients);
  void silence();
  /// Nothing passed since the last step.
  [[nodiscard]] bool empty() const { return captures_.empty(); }
  /// The step's views, gradients scaled back to one row; forgets them.
  [[nodiscard]] std::vector<LayerView> take(LossReduction reduction);

 private:
  struct Capture;
  torch::nn::Module& model_;
  std::vector<std::shared_ptr<Capture>> captures_;
  bool listening_ = false;
};

}  // namespace kappascope::train
