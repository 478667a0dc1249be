// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "kappascope/tensor/state.h"

namespace torch::nn {
class Module;
}
namespace torch::optim {
class Optimizer;
}

namespace kappascope::session {
class Session;
}

namespace kappascope::train {

struct Task;

/// Writes model, optimiser, random state, the number of steps taken (which is the sampler's
/// position), and the probes' accumulators to RUN/checkpoints/step-NNNNNNNN.safetensors, whole or
/// not at all, with a checksum. Throws with the path and the cause; a failure leaves earlier
/// checkpoints alone. In a group (session.group()) it is collective: process 0 writes, with the
/// accumulators and random states of all, and the others return an empty path.
std::filesystem::path save_checkpoint(const std::filesystem::path& run_dir,
                                      int64_t step,
                                      const torch::nn::Module& model,
                                      const torch::optim::Optimizer& optimizer,
                                      session::Session& session);
/// The same of a task, with the factor of its loss.
std::filesystem::path save_checkpoint(const std::filesystem::path& run_dir,
                                      int64_t step,
                                      const Task& task,
                                      session::Session& session);

/// Of process 0 of a group that has lost the others: without their states.
std::filesystem::path save_own_checkpoint(const std::filesystem::path& run_dir,
                                          int64_t step,
                                          const Task& task,
                                          session::Session& session);

/// What a checkpoint holds: data, of which nothing is ever run. Its checksum has been found right.
struct Checkpoint {
  std::filesystem::path file;
  int64_t step = 0;  ///< training steps taken
  tensor::State state;
};

/// Throws Error where the file is none, is damaged, or is one of version 0.1 (`.pt`), which could
/// run code when it is read.
Checkpoint read_checkpoint(const std::filesystem::path& file);

/// The newest checkpoint of a run that is whole, or that of exactly `step` steps; none where there
/// is none. Newer ones that are damaged are passed over: `damaged` is told the message of each.
/// Throws where one is asked for by its step, or all are damaged or of version 0.1.
std::optional<Checkpoint> newest_checkpoint(
    const std::filesystem::path& run_dir,
    std::optional<int64_t> step = {},
    const std::function<void(const std::string&)>& damaged = {});

/// Restores all of it. In a group of as many processes as wrote it each takes its own states; where
/// the number is another, the probes begin with their next windows, and dropout draws anew in the
/// processes but the first. Throws Error where the checkpoint does not fit.
void load_checkpoint(const Checkpoint& checkpoint,
                     torch::nn::Module& model,
                     torch::optim::Optimizer& optimizer,
                     session::Session& session);
void load_checkpoint(const Checkpoint& checkpoint, Task& task, session::Session& session);

/// Restores the model alone.
void load_model(const Checkpoint& checkpoint, torch::nn::Module& model);

/// Restores what the optimiser of that model has summed up, and no more. Throws Error where the
/// checkpoint does not fit.
void load_optimizer(const Checkpoint& checkpoint,
                    const torch::nn::Module& model,
                    torch::optim::Optimizer& optimizer);

/// All checkpoints of a run by step, those of version 0.1 behind them.
std::vector<std::filesystem::path> checkpoint_files(const std::filesystem::path& run_dir);

/// Of the checkpoints up to step `until`, removes all but the newest `keep`; 0 keeps all.
void prune_checkpoints(const std::filesystem::path& run_dir,
                       int64_t keep,
                       int64_t until = std::numeric_limits<int64_t>::max());

/// The step in a checkpoint's file name; -1 for any other name.
int64_t checkpoint_step(const std::filesystem::path& file);

}  // namespace kappascope::train
