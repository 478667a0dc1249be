// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "kappascope/tensor/group.h"
#include "lab/cli/settings.h"
#include "lab/cli/train/plan.h"
#include "lab/train/trainer.h"

namespace kappascope::cli {

/// What `kappascope train` was asked for, checked; nothing is read or written but the stored
/// configuration of a run that is resumed.
struct TrainRequest {
  Settings settings;
  train::TrainOptions options;  ///< stop_on
  PlanRequest plan;
  std::filesystem::path dir;  ///< of the run
  bool resuming = false;
  bool json = false;
  std::string save;                ///< file for the weights at the end; empty: none
  std::vector<std::string> notes;  ///< what was chosen for the user
};

/// None where help was asked for, and printed. Throws UsageError.
std::optional<TrainRequest> read_train_request(const Arguments& arguments, tensor::Group* group);

}  // namespace kappascope::cli
