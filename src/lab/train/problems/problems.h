// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>

#include "lab/nn/mlp_stack.h"
#include "lab/nn/transformers/causal_lm.h"
#include "lab/nn/transformers/vit_vae.h"
#include "lab/train/problems/problem.h"

namespace kappascope::train {

/// Stacked gated MLPs that tell images apart ("Post-gating bias", section 4.3).
std::unique_ptr<Problem> make_classification(const TrainConfig& config);
/// A decoder language model on text or tokens ("Post-gating bias", section 4.2; ASGER; "Gated MLP
/// with Isotropy Maintenance").
std::unique_ptr<Problem> make_language(const TrainConfig& config);
/// The ViT-VAE on images ("Post-gating bias", section 4.1).
std::unique_ptr<Problem> make_autoencoder(const TrainConfig& config);

/// The model that a configuration describes.
nn::MlpStackOptions mlp_options(const TrainConfig& config, int64_t inputs, int64_t classes);
nn::CausalLmOptions language_options(const TrainConfig& config, int64_t vocabulary);
nn::VitVaeOptions vae_options(const TrainConfig& config, const data::ImageShape& shape);

/// Test rows that an evaluation takes: the first train.eval-rows, or all.
inline int64_t evaluated_rows(const TrainConfig& config, int64_t rows) {
  return config.eval_rows > 0 ? std::min(config.eval_rows, rows) : rows;
}

/// Rows of a pass of an evaluation that takes at most `most` at once: no more than a pass of
/// training where that is of micro-batches.
inline int64_t rows_at_once(const TrainConfig& config, int64_t most) {
  return config.micro_batch > 0 ? std::min(config.micro_batch, most) : most;
}

/// Mean test loss in evaluation mode, `chunk` rows at a time; the mode is restored.
double test_loss(Problem& problem, int64_t rows, int64_t chunk);

}  // namespace kappascope::train
