// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "lab/study/definition.h"

namespace kappascope::study {

/// What there is of a run in its folder.
enum class Progress {
  kMissing,      ///< nothing: train it
  kInterrupted,  ///< a part of it: resume it
  kEnded,        ///< all of it, to its last step or until its loss became NaN or infinite
  kConflict,     ///< something else: leave it alone
};

/// One training of a study: one arm, one condition, one seed.
struct StudyRun {
  std::string name;           ///< of its folder: "PGB_dropout-0.1_seed-2"
  std::filesystem::path dir;  ///< its folder, in that of the study
  std::string arm;
  std::string condition;  ///< "dropout 0.1, noise 0"; empty without a grid
  std::uint64_t seed = 0;
  IniSettings settings;  ///< those of all runs, then of its condition, then of its arm
  Progress progress = Progress::kMissing;
  std::string conflict;  ///< why, for kConflict
};

/// All runs in the order in which to train them: conditions, then seeds, then arms, so that a study
/// that is interrupted has whole pairs. `changes` come after the settings of all runs and before
/// those of condition and arm. Throws UsageError when validate() does, when label, condition or
/// train.seed are set, which the study sets itself, when `changes` set what arms or conditions
/// differ by, and when two runs would share a folder.
std::vector<StudyRun> plan_runs(const StudyDefinition& definition,
                                const std::filesystem::path& folder,
                                const IniSettings& changes = {});

/// What differs between the configuration that a stored run has (its fact "config") and that of
/// this run, for a reader; empty where nothing does.
using Difference = std::function<std::string(const StudyRun& run, const std::string& stored)>;

/// Fills in `progress` and `conflict` from the folders. A folder that holds a run of another
/// configuration, or no run but other files, is a conflict, and so is the copy of a run that was
/// taken away. Without `difference` the stored configuration must be to_ini(run.settings).
void find_progress(std::vector<StudyRun>& runs, const Difference& difference = {});

}  // namespace kappascope::study
