// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "lab/train/task.h"

namespace torch::nn {
class Module;
}
namespace kappascope::session {
class Session;
}

namespace kappascope::train {

/// How the gradient of a batch is taken.
struct PassOptions {
  /// Rows of one forward and backward pass, whose loss is weighted by its share of the batch; only
  /// the activations of one pass are held at a time. Where dropout is on, masks are drawn by the
  /// pass. 0: all rows.
  std::int64_t micro_batch = 0;
  std::optional<at::ScalarType> autocast = {};  ///< of the forward pass
  double scale = 1;                             ///< of the loss, and so of the gradients
};

/// Adds the gradient of the mean loss over these training rows to the parameters' and returns the
/// loss, which is not scaled.
double add_gradients(Problem& problem, const at::Tensor& rows, const PassOptions& options = {});

/// The gradient of a step's batch, in the precision and the passes that the task's configuration
/// says, with `session` watching; returns the loss. Where it overflows in 16 bits it is taken again
/// with a lower factor of the loss. Where memory runs out, smaller passes are tried, and Error is
/// thrown with the largest of half the size, a quarter, ... that fits. In a group each process
/// takes its part of `rows` (session.group()); loss and gradient are then those of all rows, of the
/// same bits in each.
double take_gradient(Task& task, const at::Tensor& rows, session::Session& session);

/// ‖∇loss‖ over all parameters, before any clipping: float sums of pieces of the gradients, those
/// over the pieces of double.
double gradient_norm(const torch::nn::Module& model);

}  // namespace kappascope::train
