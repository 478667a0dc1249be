// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lab/data/images.h"
#include "lab/train/config.h"

namespace kappascope::train {

/// a + b·rows
struct Affine {
  double fixed = 0, per_row = 0;

  [[nodiscard]] double at(double rows) const { return fixed + per_row * rows; }
  Affine& operator+=(const Affine& other) {
    fixed += other.fixed;
    per_row += other.per_row;
    return *this;
  }
};

/// A watched down-projection.
struct LayerSize {
  std::int64_t features = 0, outputs = 0;
  std::int64_t rows = 1;  ///< of features, for each row of the batch
};

/// What plans recommend for train.logit-rows.
inline constexpr std::int64_t kLogitRows = 1024;

/// What a model costs, by rows of a pass.
struct ModelCost {
  std::int64_t parameters = 0;
  std::int64_t tokens = 1;  ///< of a row
  double flop = 0;          ///< of a row forward and backward, without what is computed twice
  double flop_again = 0;    ///< forward pass of what is recomputed
  Affine activations;       ///< bytes that a forward pass keeps
  Affine workspace;         ///< bytes more at the peak of the backward pass, without gradients
  Affine logits;            ///< bytes of logits and what is made of them
  Affine logits_in_pieces;  ///< the same with train.logit-rows = kLogitRows
  std::vector<LayerSize> layers;
  std::function<void()> sample;  ///< a forward and backward pass of a part of the model
  double sample_flop = 0;        ///< of it
};

ModelCost language_cost(const TrainConfig& config, std::int64_t vocabulary);
ModelCost vae_cost(const TrainConfig& config, const data::ImageShape& shape);
/// `rows`: of a pass, up to which its memory is known.
ModelCost classifier_cost(const TrainConfig& config,
                          std::int64_t inputs,
                          std::int64_t classes,
                          std::int64_t rows);

}  // namespace kappascope::train
