// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "lab/train/plan/model_cost.h"
#include "lab/train/plan/plan.h"

namespace kappascope::train {

/// Rows of one pass, where the batch is in one process.
std::int64_t pass_of(const TrainConfig& config);

/// Of one device at the peak of a step whose passes have so many rows.
PlannedMemory memory_of(const ModelCost& cost,
                        const TrainConfig& config,
                        const PlanOptions& options,
                        double rows);

/// Rows of a pass, or of a batch that has no parts, that fit into `room` bytes; at most `most`.
std::int64_t rows_that_fit(const ModelCost& cost,
                           const TrainConfig& config,
                           const PlanOptions& options,
                           double room,
                           std::int64_t most);

}  // namespace kappascope::train
