// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/command.h"
#include "lab/cli/settings.h"
#include "lab/cli/train/plan.h"

namespace kappascope::cli {

/// What stands on the line of `kappascope train` beside the settings; empty where it was not given.
struct TrainWords {
  std::string data, out, resume;
  PlanRequest plan;
};

/// Both arguments are written to when the line is parsed.
Usage train_usage(Settings& settings, TrainWords& words);

/// Says what to pass, where nothing was, and returns the status of wrong usage.
int nothing_to_train();

}  // namespace kappascope::cli
