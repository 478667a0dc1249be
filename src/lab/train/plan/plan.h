// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "kappascope/probes/standard.h"
#include "lab/train/config.h"

namespace kappascope::train {

/// Bytes of a device's memory by its data sheet: h200, h100, a100, l40s, rtx4090 or v100. Throws
/// UsageError with these names at another.
double device_memory(const std::string& name);

struct PlanOptions {
  std::string device;  ///< as device_memory takes it; empty: this machine, timed by three passes
  int devices = 1;     ///< of that kind, each with a part of the batch
  int64_t rows = 0;    ///< training rows, where the data are not here
  probes::ProbeOptions probes;  ///< those of a layer count, and their window
  int64_t kept_rows = 0;        ///< of features, a layer and step (session::SessionOptions::rows)
  int64_t hessian_rows = 0;     ///< of the Hessian's windows; 0: there are none
  int64_t hessian_vectors = 0;  ///< that one holds at most, of the parameters' size
  int hessian_products = 0;     ///< that one takes at least
  double hessian_budget = 0;    ///< their share of the training time; 0: no limit
};

/// Bytes at the peak of a step, by what they are for.
struct PlannedMemory {
  double weights = 0, gradients = 0, optimizer = 0;
  double activations = 0;  ///< kept for the backward pass of one pass
  double workspace = 0;    ///< of that backward pass
  double logits = 0;       ///< of a language model's output layer
  double probes = 0;       ///< in a window: sums, and what a step's passes leave for it

  [[nodiscard]] double total() const {
    // Logits are gone when the backward pass comes to the blocks.
    return weights + gradients + optimizer + activations + std::max(workspace, logits) + probes;
  }
};

/// What a run takes, told before it is paid for.
struct Plan {
  int64_t parameters = 0;
  int64_t steps = 0, tokens_per_step = 0;  ///< of an image classifier: images
  double flop_per_step = 0;                ///< products of matrices, forward and backward
  PlannedMemory memory;                    ///< of one device
  double room = 0;                         ///< bytes there are; 0: not known
  int64_t rows_that_fit = 0;               ///< of one pass; 0: none, or room is not known
  double checkpoint_bytes = 0;             ///< of all that are kept
  double checkpoint_peak = 0;              ///< with the next, before the oldest is removed
  double seconds_per_step = 0;             ///< measured here; 0: of a device that is not here
  double hessian_seconds = 0;              ///< of one window at least; 0: there is none
  std::string basis;                       ///< of the seconds
  std::vector<std::string> warnings;       ///< settings that cannot work, or only here

  [[nodiscard]] double hours() const {
    return seconds_per_step * static_cast<double>(steps) / 3600;
  }
};

/// Plans a run from its configuration; nothing is trained or written. Memory is measured: one block
/// of a language model, or the whole of a smaller model, runs forward and backward with one row and
/// with two, and the rest is multiplied. Takes seconds, and the memory of that. Throws UsageError
/// on settings that make no run.
Plan make_plan(const TrainConfig& config, const PlanOptions& options = {});

/// As a table for a person.
std::string to_text(const Plan& plan);

}  // namespace kappascope::train
