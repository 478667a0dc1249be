// SPDX-License-Identifier: Apache-2.0
#include "lab/study/study.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/atomic_file.h"
#include "kappascope/core/error.h"
#include "kappascope/store/run_reader.h"
#include "store/database/writer_lock.h"

namespace kappascope::study {
namespace {

namespace fs = std::filesystem;

/// The state of the run's store; empty without one.
std::string state_of(const StudyRun& run) {
  if (!fs::exists(run.dir / "run.sqlite")) return "";
  return store::RunReader(run.dir).state();
}

/// Empty when the run ended.
std::string why_not_ended(const StudyRun& run, const TrainRun& train) {
  try {
    train(run);
  } catch (const std::exception& error) {
    return error.what();
  }
  const auto state = state_of(run);
  if (state.empty()) return "no run store was left in " + run.dir.string();
  if (state == "finished" || state == "failed") return "";
  return fmt::format("{} was left {}, not finished", run.dir.string(), state);
}

}  // namespace

fs::path study_folder(const StudyDefinition& definition, const StudyOptions& options) {
  return options.folder.empty() ? fs::path("runs") / definition.name : options.folder;
}

store::RunWriter begin_run(const StudyRun& run) {
  if (fs::exists(run.dir / "run.sqlite")) return store::RunWriter::resume(run.dir, -1);
  return store::RunWriter::create(run.dir,
                                  {{"label", run.arm},
                                   {"condition", run.condition},
                                   {"seed", std::to_string(run.seed)},
                                   {"config", to_ini(run.settings)}});
}

std::vector<RunEnd> ended_runs(const std::vector<StudyRun>& runs,
                               const std::vector<RunFailure>& failures) {
  std::vector<RunEnd> ends;
  for (const auto& run : runs) {
    if (run.progress == Progress::kConflict) continue;
    const bool failed = std::ranges::find(failures, run.name, &RunFailure::run) != failures.end();
    const auto state = state_of(run);
    if (state == "failed" || (state == "finished" && !failed))
      ends.push_back(read_run_ends({run.dir}).front());
  }
  return ends;
}

StudyResult conclude(const StudyDefinition& definition,
                     const std::vector<StudyRun>& runs,
                     const std::vector<RunFailure>& failures,
                     const StudyOptions& options) {
  const auto ends = ended_runs(runs, failures);
  const auto& control = definition.arms.front().first;
  if (std::ranges::find(ends, control, &RunEnd::arm) == ends.end()) {
    throw Error(fmt::format("no run of {} has ended{}",
                            ends.empty() ? definition.name
                                         : fmt::format("the arm '{}' of {}, with which the others "
                                                       "are compared,",
                                                       control,
                                                       definition.name),
                            failures.empty() ? ""
                                             : fmt::format("; the first, {}, failed: {}",
                                                           failures.front().run,
                                                           failures.front().why)));
  }
  std::vector<std::string> arms;
  for (const auto& [label, settings] : definition.arms) arms.push_back(label);
  auto result = summarise(ends, arms, definition.metrics);
  result.name = definition.name;
  result.command = options.command;
  result.runs = std::ssize(runs);
  result.definition = fingerprint(definition);
  for (const auto& run : runs) result.folders.push_back(run.name);
  if (options.decide) result.verdicts = options.decide(definition, ends);
  for (auto& verdict : result.verdicts) verdict.study = definition.name;
  const auto folder = study_folder(definition, options);
  if (!holds_more(folder, result)) write_result(folder, result);
  return result;
}

StudyOutcome run_study(const StudyDefinition& definition,
                       const TrainRun& train,
                       const StudyOptions& options) {
  const auto folder = study_folder(definition, options);
  auto runs = plan_runs(definition, folder, options.changes);
  make_directories(folder);
  const store::WriterLock lock(folder, "study");
  find_progress(runs);
  std::vector<RunFailure> failures;
  for (const auto& run : runs) {
    if (run.progress == Progress::kEnded) continue;
    const auto why = run.progress == Progress::kConflict ? run.conflict : why_not_ended(run, train);
    if (!why.empty()) failures.push_back({run.name, why});
  }
  auto result = conclude(definition, runs, failures, options);
  return {std::move(result), std::move(failures)};
}

}  // namespace kappascope::study
