// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "kappascope/train/problem.h"

namespace kappascope::train {

/// Stacked gated MLPs that tell images apart ("Post-gating bias", section 4.3).
std::unique_ptr<Problem> make_classification(const TrainConfig& config);

}  // namespace kappascope::train
