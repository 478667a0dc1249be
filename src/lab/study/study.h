// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "kappascope/store/run_writer.h"
#include "lab/study/comparison.h"
#include "lab/study/definition.h"
#include "lab/study/plan.h"
#include "lab/study/result.h"

/// A study trains several variants (arms) with several seeds and asks whether they differ. This
/// layer plans the runs, calls whoever trains them, compares the arms by pairs of runs of one seed,
/// and stores what it found as one value, the StudyResult, which terminal, page and Markdown show.
/// It knows no model and no trainer.
namespace kappascope::study {

/// Trains one run: leaves in run.dir a run store (begin_run, or any code that writes one) with the
/// facts label, condition, seed and config, and the state "finished", or "failed" where the loss
/// became NaN or infinite. An exception counts as a failure of this run; the others go on.
using TrainRun = std::function<void(const StudyRun& run)>;

/// Decides the definition's claims on its runs.
using DecideClaims = std::function<std::vector<ClaimVerdict>(const StudyDefinition& definition,
                                                             const std::vector<RunEnd>& runs)>;

struct StudyOptions {
  std::filesystem::path folder{};  ///< of the runs; empty: runs/NAME
  IniSettings changes{};           ///< to the settings of all runs
  std::string command{};           ///< that makes the result again, for its readers; may stay empty
  DecideClaims decide{};           ///< empty: claims stay undecided
};

/// A run that did not end, and why.
struct RunFailure {
  std::string run, why;
};

struct StudyOutcome {
  StudyResult result;
  std::vector<RunFailure> failures;  ///< not stored: the next call tries these runs again
};

/// Trains every run of the study that has not ended, one after the other, compares the arms, and
/// stores the result in the folder. Called again it trains only what is missing. A stored result of
/// more runs stays (holds_more). Throws UsageError when plan_runs() does, and Error when no run has
/// ended.
StudyOutcome run_study(const StudyDefinition& definition,
                       const TrainRun& train,
                       const StudyOptions& options = {});

/// Opens the run's store with the facts that a study needs. What an interrupted run had written is
/// removed: this run begins at step 0. The caller sets the state when it has ended.
store::RunWriter begin_run(const StudyRun& run);

// The two halves of run_study, for a caller that trains the runs its own way (in processes, say).

/// The folder that `options` name.
std::filesystem::path study_folder(const StudyDefinition& definition, const StudyOptions& options);

/// The runs that have ended: finished, or failed because their loss became NaN or infinite. A run
/// named in `failures` counts only for the latter reason.
std::vector<RunEnd> ended_runs(const std::vector<StudyRun>& runs,
                               const std::vector<RunFailure>& failures);

/// Compares the arms on the runs that have ended, decides the claims, and stores the result unless
/// one of more runs is stored (holds_more). Throws Error when no run has ended, with the first
/// failure.
StudyResult conclude(const StudyDefinition& definition,
                     const std::vector<StudyRun>& runs,
                     const std::vector<RunFailure>& failures,
                     const StudyOptions& options);

}  // namespace kappascope::study
