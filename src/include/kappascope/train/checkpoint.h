// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace torch::nn {
class Module;
}
namespace torch::optim {
class Optimizer;
}

namespace kappascope::train {

class Session;

/// Writes model, optimiser, random state, the number of steps taken (which is the sampler's
/// position), and the probes' accumulators to RUN/checkpoints/step-NNNNNNNN.pt, under a temporary
/// name first. Throws with the path and the cause; a failure leaves earlier checkpoints alone.
std::filesystem::path save_checkpoint(const std::filesystem::path& run_dir,
                                      int64_t step,
                                      const torch::nn::Module& model,
                                      const torch::optim::Optimizer& optimizer,
                                      Session& session);

/// Restores all of it; returns the number of steps taken. Throws when the file does not fit.
int64_t load_checkpoint(const std::filesystem::path& file,
                        torch::nn::Module& model,
                        torch::optim::Optimizer& optimizer,
                        Session& session);

/// Restores the model alone; returns the number of steps taken.
int64_t load_model(const std::filesystem::path& file, torch::nn::Module& model);

/// The newest checkpoint of a run, or that of exactly `step` steps; none when there is none.
std::optional<std::filesystem::path> find_checkpoint(const std::filesystem::path& run_dir,
                                                     std::optional<int64_t> step = {});

/// Removes all but the newest `keep` checkpoints.
void prune_checkpoints(const std::filesystem::path& run_dir, int keep);

/// The step in a checkpoint's file name, or -1.
int64_t checkpoint_step(const std::filesystem::path& file);

}  // namespace kappascope::train
