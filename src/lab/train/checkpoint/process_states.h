// SPDX-License-Identifier: Apache-2.0
// What each process has of its own in a checkpoint: its session's accumulators and its generators.
// Those of process 0 stand where one process alone has them.
#pragma once

#include "kappascope/tensor/group.h"
#include "kappascope/tensor/state.h"

namespace torch::nn {
class Module;
}
namespace kappascope::session {
class Session;
}

namespace kappascope::train {

tensor::State process_states(const torch::nn::Module& model, session::Session& session);

/// Whether this process has sent its states to process 0, which gathers them: not where it is that.
[[nodiscard]] bool sent_process_states(const torch::nn::Module& model, session::Session& session);
/// Adds those of the others, in process 0; nothing without a group.
void gather_process_states(tensor::State& state, tensor::Group* group);

/// Throws Error where the random states of process 0 are damaged.
void require_random_states(const tensor::State& state);

/// Restores those of this process where as many wrote the checkpoint; otherwise the steps and the
/// random states of process 0, from which the others draw apart.
void load_process_states(const tensor::State& state,
                         const torch::nn::Module& model,
                         session::Session& session);

}  // namespace kappascope::train
