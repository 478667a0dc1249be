// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "kappascope/nn/tapped_linear.h"
#include "lab/train/task.h"

namespace kappascope::session {
class Session;
}

namespace kappascope::train {

/// What a configuration says of the post-gating biases b beside that they are learnt:
/// `model.bias = centred` keeps them at minus a running mean of the features, which is explicit
/// centring, and `model.bias-start = mean` begins there. The means are over the tokens of all
/// processes of the session's group, and detached: no gradient passes through them.
class Centring {
 public:
  /// The share of a step's mean in the running one, as PyTorch's BatchNorm has it.
  static constexpr double kRate = 0.1;

  Centring(const Task& task, session::Session& session);

  /// Before the first step of a run: each b becomes minus the mean over these training rows, this
  /// process's of the batch, one layer after the other, as each moves what the next ones see. Draws
  /// no random number.
  void begin(const at::Tensor& rows);
  /// The passes of `work` in training mode count.
  template <typename Work>
  auto watching(const Work& work) {
    gather(true);
    const auto found = work();
    gather(false);
    return found;
  }
  /// After a step: the running means go kRate of the way to what was counted.
  void follow();

 private:
  void gather(bool on);

  Problem& problem_;
  session::Session& session_;
  std::vector<nn::TappedLinearImpl*> begun_;  // at minus the mean
  std::vector<nn::TappedLinearImpl*> kept_;   // there
};

}  // namespace kappascope::train
