// SPDX-License-Identifier: Apache-2.0
// A training run small enough to repeat many times, with every probe there is.
#pragma once

#include <torch/types.h>

#include <string>
#include <vector>

#include "core/temporary_folder.h"
#include "kappascope/probes/attach.h"
#include "lab/train/preconditioner.h"
#include "lab/train/trainer.h"
#include "support/catch.h"
#include "support/emitted.h"
#include "support/idx.h"

namespace kappascope::testing {

inline train::TrainConfig small_config(const std::filesystem::path& data) {
  train::TrainConfig config;
  config.data = data.string();
  config.width = 6;
  config.hidden = 10;
  config.blocks = 2;
  config.bias = "both";
  config.dropout = 0.2;
  config.batch = 32;
  config.steps = 40;
  config.eval_every = 10;
  config.checkpoint_every = 7;
  config.seed = 5;
  config.threads = 1;  // two on busy cores wait for each other at every small product
  return config;
}

/// A text of 4,000 bytes in which each letter tells the next.
inline std::filesystem::path write_text(const TemporaryFolder& folder) {
  std::string text;
  for (int i = 0; i < 4000; ++i) text.push_back(static_cast<char>('a' + i * i % 7));
  write_bytes(folder.path() / "text.txt", text);
  return folder.path() / "text.txt";
}

inline train::TrainConfig language_config(const std::filesystem::path& text) {
  train::TrainConfig config;
  config.kind = "language";
  config.data = text.string();
  config.context = 16;
  config.width = 16;
  config.hidden = 24;
  config.blocks = 2;
  config.transformer.heads = 2;
  config.batch = 8;
  config.steps = 60;
  config.learning_rate = 1e-2;
  config.threads = 1;
  return config;
}

inline probes::ProbeOptions all_probes(train::Task& task) {
  probes::ProbeOptions options;
  options.every = 10;
  options.window = 4;
  options.budget = 0;
  options.hessian_every = 15;
  options.last_step = task.steps - 1;
  options.spectrum.top = 2;
  options.spectrum.density_steps = 10;
  options.spectrum.density_starts = 2;
  options.spectrum.preconditioner = [&task](const curvature::NamedParameters& parameters) {
    return train::preconditioner(*task.optimizer, parameters);
  };
  options.curvature_loss = [&task] {
    task.model().eval();
    const auto losses = task.problem->losses(data::Split::kTrain, torch::arange(50, torch::kLong));
    task.model().train();
    return losses.mean();
  };
  return options;
}

inline at::Tensor weights(const train::Task& task) {
  std::vector<at::Tensor> parts;
  for (const auto& parameter : task.model().parameters())
    parts.push_back(parameter.detach().flatten());
  return torch::cat(parts);
}

/// To the last bit in every series of `want`.
inline void check_equal_runs(const store::RunReader& got, const store::RunReader& want) {
  for (const auto& key : want.series()) {
    // Seconds and bytes are not reproducible.
    if (key.name.starts_with("cost/") || key.name.starts_with("memory/")) continue;
    CAPTURE(key.name, key.layer);
    CHECK(values(got, key) == values(want, key));
  }
}

}  // namespace kappascope::testing
