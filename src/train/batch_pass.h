// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "kappascope/train/problem.h"

namespace kappascope::session {
class Session;
}

namespace kappascope::train {

/// Adds the gradient of the mean loss over these training rows to the parameters' and returns the
/// loss. `micro_batch` > 0: in passes of that many rows, whose losses are weighted by their share
/// of the rows; only the activations of one pass are held at a time. Where dropout is on, masks are
/// drawn by the pass.
double add_gradients(Problem& problem, const at::Tensor& rows, std::int64_t micro_batch);

/// The same in the passes of a step that `session` watches. Where memory runs out it tries smaller
/// passes and throws Error with the largest of half the size, a quarter, ... that fits; the
/// parameters' gradients are then meaningless.
double add_gradients_or_say_what_fits(Problem& problem,
                                      const at::Tensor& rows,
                                      std::int64_t micro_batch,
                                      session::Session& session);

}  // namespace kappascope::train
