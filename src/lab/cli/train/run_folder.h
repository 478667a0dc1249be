// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "cli/progress.h"
#include "kappascope/store/run_writer.h"
#include "kappascope/tensor/group.h"
#include "lab/cli/train/request.h"
#include "lab/train/checkpoint/checkpoint.h"
#include "lab/train/task.h"

namespace kappascope::cli {

/// The newest checkpoint of the run that is whole, as process 0 finds it; none where there is none
/// yet.
std::optional<train::Checkpoint> checkpoint_of(const std::filesystem::path& dir,
                                               tensor::Group* group,
                                               ProgressLine& line);

/// Makes the run in its folder, or goes on in it after `taken` steps; in a group process 0 does,
/// and the others get none.
std::optional<store::RunWriter> open_run(const TrainRequest& request,
                                         const train::Task& task,
                                         const Arguments& arguments,
                                         int64_t taken,
                                         tensor::Group* group);

}  // namespace kappascope::cli
