// SPDX-License-Identifier: Apache-2.0
#include "lab/train/checkpoint/checkpoint.h"

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>
#include <torch/types.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <vector>

#include "core/atomic_file.h"
#include "core/own_files.h"
#include "core/require.h"
#include "kappascope/session/session.h"
#include "lab/data/module_tensors.h"
#include "lab/train/checkpoint/process_states.h"
#include "lab/train/optimizer.h"
#include "lab/train/task.h"
#include "tensor/safetensors/state_file.h"

namespace kappascope::train {
namespace fs = std::filesystem;
namespace {

constexpr const char* kExtension = ".safetensors";
constexpr const char* kLossScale = "loss_scale";
constexpr const char* kOldExtension = ".pt";  // of version 0.1

/// The step in the name of a file with this extension, or -1.
int64_t step_of(const fs::path& file, const char* extension) {
  const auto stem = file.stem().string();
  if (!stem.starts_with("step-") || file.extension() != extension) return -1;
  int64_t step = -1;
  const auto* end = stem.data() + stem.size();
  const auto [stop, error] = std::from_chars(stem.data() + 5, end, step);
  return error == std::errc() && stop == end && step >= 0 ? step : -1;
}

/// Where they are; not through a link.
fs::path folder_of(const fs::path& run_dir) {
  return own_folder(run_dir, "checkpoints");
}

/// By step.
std::map<int64_t, fs::path> list(const fs::path& run_dir, const char* extension) {
  std::map<int64_t, fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_of(run_dir), ignored)) {
    const auto step = step_of(entry.path(), extension);
    if (step >= 0) found.emplace(step, entry.path());
  }
  return found;
}

[[noreturn]] void refuse_old(const fs::path& file) {
  throw Error(file.string() +
              " is a checkpoint of version 0.1, which could run code when it is read, and is not "
              "read any more: continue the run with version 0.1, or train it anew");
}

/// Names the checkpoint in what goes wrong.
template <typename Load>
void load_from(const Checkpoint& checkpoint, Load load) {
  const auto refuse = [&](const std::string& why) {
    throw Error("checkpoint " + checkpoint.file.string() + " does not fit this run: " + why);
  };
  try {
    load();
  } catch (const Error& error) {
    refuse(error.what());
  } catch (const c10::Error& error) {
    refuse(error.what_without_backtrace());
  }
}

/// All of a checkpoint but what the others have.
tensor::State state_of(int64_t step,
                       const torch::nn::Module& model,
                       const torch::optim::Optimizer& optimizer,
                       session::Session& session) {
  auto state = process_states(model, session);
  tensor::State model_state;
  for (const auto& [name, value] : data::tensors_of(model)) model_state.set(name, value);
  state.set("step", step);
  state.set("model", model_state);
  state.set("optimizer", optimizer_state(optimizer, model));
  return state;
}

fs::path write_checkpoint(const fs::path& run_dir, int64_t step, const tensor::State& state) {
  // A run that was taken away is not begun anew by its checkpoint.
  require(fs::is_directory(run_dir),
          "cannot write a checkpoint: there is no directory {}",
          run_dir.string());
  const auto dir = folder_of(run_dir);
  make_directories(dir);
  auto file = dir / fmt::format("step-{:08}{}", step, kExtension);
  try {
    tensor::write_state(file, state);
  } catch (const Error& error) {
    throw Error(std::string(error.what()) +
                "; free some space and resume the run: what was written before is intact");
  }
  return file;
}

}  // namespace

int64_t checkpoint_step(const fs::path& file) {
  return step_of(file, kExtension);
}

fs::path save_checkpoint(const fs::path& run_dir,
                         int64_t step,
                         const torch::nn::Module& model,
                         const torch::optim::Optimizer& optimizer,
                         session::Session& session) {
  if (sent_process_states(model, session)) return {};
  auto state = state_of(step, model, optimizer, session);
  gather_process_states(state, session.group());
  return write_checkpoint(run_dir, step, state);
}

fs::path save_checkpoint(const fs::path& run_dir,
                         int64_t step,
                         const Task& task,
                         session::Session& session) {
  if (sent_process_states(task.model(), session)) return {};
  auto state = state_of(step, task.model(), *task.optimizer, session);
  gather_process_states(state, session.group());
  state.set(kLossScale, task.loss_scale.state());
  return write_checkpoint(run_dir, step, state);
}

fs::path save_own_checkpoint(const fs::path& run_dir,
                             int64_t step,
                             const Task& task,
                             session::Session& session) {
  auto state = state_of(step, task.model(), *task.optimizer, session);
  state.set(kLossScale, task.loss_scale.state());
  return write_checkpoint(run_dir, step, state);
}

Checkpoint read_checkpoint(const fs::path& file) {
  own_file(file.parent_path(), file.filename());
  if (file.extension() == kOldExtension) refuse_old(file);
  Checkpoint checkpoint{file, 0, tensor::read_state(file)};
  checkpoint.step = checkpoint.state.integer("step");
  require(checkpoint.step == checkpoint_step(file),
          "checkpoint {} is one of step {} by what it holds",
          file.string(),
          checkpoint.step);
  return checkpoint;
}

std::optional<Checkpoint> newest_checkpoint(
    const fs::path& run_dir,
    std::optional<int64_t> step,
    const std::function<void(const std::string&)>& damaged) {
  const auto found = list(run_dir, kExtension), old = list(run_dir, kOldExtension);
  if (step) {
    if (const auto there = found.find(*step); there != found.end())
      return read_checkpoint(there->second);
    if (const auto there = old.find(*step); there != old.end()) refuse_old(there->second);
    return std::nullopt;
  }
  std::string first;
  for (auto it = found.rbegin(); it != found.rend(); ++it) {
    try {
      return read_checkpoint(it->second);
    } catch (const Error& error) {
      if (first.empty()) first = error.what();
      if (damaged) damaged(error.what());
    }
  }
  require(found.empty(), "no checkpoint in {} is whole: {}", run_dir.string(), first);
  if (!old.empty()) refuse_old(old.rbegin()->second);
  return std::nullopt;
}

void load_checkpoint(const Checkpoint& checkpoint,
                     torch::nn::Module& model,
                     torch::optim::Optimizer& optimizer,
                     session::Session& session) {
  load_from(checkpoint, [&] {
    const auto& state = checkpoint.state;
    require_random_states(state);  // before anything is changed
    data::load_tensors(model, state.inner("model").tensors(), "its model");
    load_optimizer(state.inner("optimizer"), optimizer, model);
    load_process_states(state, model, session);
  });
}

void load_checkpoint(const Checkpoint& checkpoint, Task& task, session::Session& session) {
  load_checkpoint(checkpoint, task.model(), *task.optimizer, session);
  // One of a program without it has a factor of 1.
  if (!checkpoint.state.has(kLossScale)) return;
  load_from(checkpoint, [&] { task.loss_scale.load(checkpoint.state.inner(kLossScale)); });
}

void load_model(const Checkpoint& checkpoint, torch::nn::Module& model) {
  load_from(checkpoint, [&] {
    data::load_tensors(model, checkpoint.state.inner("model").tensors(), "its model");
  });
}

void load_optimizer(const Checkpoint& checkpoint,
                    const torch::nn::Module& model,
                    torch::optim::Optimizer& optimizer) {
  load_from(checkpoint,
            [&] { load_optimizer(checkpoint.state.inner("optimizer"), optimizer, model); });
}

std::vector<fs::path> checkpoint_files(const fs::path& run_dir) {
  std::vector<fs::path> files;
  for (const auto* extension : {kExtension, kOldExtension}) {
    for (const auto& [step, file] : list(run_dir, extension)) files.push_back(file);
  }
  return files;
}

void prune_checkpoints(const fs::path& run_dir, int64_t keep, int64_t until) {
  remove_leftovers(folder_of(run_dir), "step-");
  auto found = list(run_dir, kExtension);
  std::erase_if(found, [until](const auto& checkpoint) { return checkpoint.first > until; });
  while (keep > 0 && std::ssize(found) > keep) {
    fs::remove(found.begin()->second);
    found.erase(found.begin());
  }
}

}  // namespace kappascope::train
