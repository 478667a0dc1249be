// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/study/processes.h"
#include "cli/study/study.h"
#include "kappascope/store/study/run_ends.h"

namespace kappascope::cli {

/// A run that could not be started, or that failed.
struct Failure {
  std::string run, why;
};

/// What there is to do of a study in its folder.
struct Plan {
  std::vector<Job> jobs;
  std::vector<const StudyRun*> of_job;
  std::vector<Failure> failures;
  std::size_t there = 0;  ///< runs that had ended before
};

/// What there is to do in `root`, with each run's settings written there. A folder that holds a run
/// of other settings, or something else, is a failure of its run.
Plan plan_sweep(const std::vector<StudyRun>& runs, const std::filesystem::path& root);

/// Runs what is planned, with a line of progress, and adds what failed; returns whether it was
/// interrupted.
bool carry_out(Plan& plan, const Study& study, std::size_t runs, int jobs_at_once);

/// The runs that have ended, by a last step or by a loss that left the finite numbers.
std::vector<store::RunEnd> ended_runs(const std::vector<StudyRun>& runs,
                                      const std::vector<Failure>& failures,
                                      const std::filesystem::path& root);

}  // namespace kappascope::cli
