// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lab/cli/settings.h"
#include "lab/study/study.h"

namespace kappascope::cli {

/// The settings of a run of a study as `train` takes them, checked. Throws UsageError that names
/// study and arm for a setting that does not exist, cannot be read, or has no effect.
Settings settings_of(const study::StudyRun& run, const std::string& study);

/// What differs between a stored configuration and that of this run; the number of threads does
/// not count. Throws Error when the stored one cannot be read.
std::string difference(const study::StudyRun& run,
                       const std::string& stored,
                       const std::string& study);

struct TrainedRuns {
  std::vector<study::RunFailure> failures;
  bool interrupted = false;
};

/// Trains the runs that have not ended, each in a process of its own, `jobs` at a time, and shows
/// the progress on stderr. Settings and logs are written into `folder`.
TrainedRuns train_runs(const std::vector<study::StudyRun>& runs,
                       const std::string& study,
                       const std::filesystem::path& folder,
                       int jobs);

}  // namespace kappascope::cli
