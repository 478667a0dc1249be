// SPDX-License-Identifier: Apache-2.0
#include "lab/study/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/own_files.h"
#include "kappascope/core/error.h"
#include "kappascope/store/run_reader.h"
#include "kappascope/store/run_writer.h"

namespace kappascope::study {
namespace {

namespace fs = std::filesystem;

std::string without_section(const std::string& setting) {
  return setting.substr(setting.rfind('.') + 1);
}

/// Every choice of one value for each setting, the last setting changing fastest.
std::vector<IniSettings> conditions_of(const StudyDefinition& definition) {
  std::vector<IniSettings> conditions = {{}};
  for (const auto& [setting, values] : definition.grid) {
    std::vector<IniSettings> longer;
    for (const auto& condition : conditions) {
      for (const auto& value : values) {
        longer.push_back(condition);
        longer.back().emplace_back(setting, value);
      }
    }
    conditions = std::move(longer);
  }
  return conditions;
}

std::string name_of_condition(const IniSettings& condition) {
  std::vector<std::string> parts;
  for (const auto& [setting, value] : condition)
    parts.push_back(fmt::format("{} {}", without_section(setting), value));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Refuses settings that the study would overwrite silently.
void refuse_overwritten(const StudyDefinition& definition, const IniSettings& changes) {
  std::set<std::string> varied;
  for (const auto& [setting, values] : definition.grid) varied.insert(setting);
  for (const auto& [arm, settings] : definition.arms) {
    for (const auto& [setting, value] : settings) varied.insert(setting);
  }
  auto named = varied;
  for (const auto* part : {&definition.base, &changes}) {
    for (const auto& [setting, value] : *part) named.insert(setting);
  }
  for (const auto* own : {"train.seed", "label", "condition"}) {
    if (named.contains(own)) {
      throw UsageError(
          fmt::format("{}: {} is the study's own (it follows from study.seeds, the labels of "
                      "[arms], and [grid]) and cannot be set",
                      definition.name,
                      own));
    }
  }
  for (const auto& [setting, value] : changes) {
    if (varied.contains(setting)) {
      throw UsageError(
          fmt::format("{} is what the arms or conditions of {} differ by; edit the study",
                      setting,
                      definition.name));
    }
  }
}

void find_progress(StudyRun& run, const Difference& difference) {
  if (fs::is_symlink(fs::symlink_status(run.dir))) {
    run.progress = Progress::kConflict;
    run.conflict = run.dir.string() +
                   " is a link, and may lead anywhere: remove it, or choose another folder for the "
                   "runs (--out)";
    return;
  }
  if (!fs::exists(run.dir / "run.sqlite")) {
    run.progress = Progress::kMissing;
    if (fs::exists(run.dir) && !store::RunWriter::is_half_made(run.dir)) {
      run.progress = Progress::kConflict;
      run.conflict =
          run.dir.string() + " is in the way: it is not empty and holds no run; remove it";
    } else if (const auto copy = store::RunWriter::rescue_of(run.dir); !copy.empty()) {
      run.progress = Progress::kConflict;
      run.conflict = fmt::format(
          "{0} was taken away while it was written, and {1} has what it held: rename it to {0} to "
          "go on from it, or remove it to start anew",
          run.dir.string(),
          copy.string());
    }
    return;
  }
  const store::RunReader reader(run.dir);
  const auto stored = reader.fact("config");
  const auto differs =
      difference ? difference(run, stored) : first_difference(stored, to_ini(run.settings));
  if (!differs.empty()) {
    run.progress = Progress::kConflict;
    run.conflict = fmt::format(
        "made with other settings than the study has now ({}): remove it, or choose another folder "
        "for the runs (--out)",
        differs);
    return;
  }
  const auto state = reader.state();
  run.progress =
      state == "finished" || state == "failed" ? Progress::kEnded : Progress::kInterrupted;
}

}  // namespace

std::vector<StudyRun> plan_runs(const StudyDefinition& definition,
                                const fs::path& folder,
                                const IniSettings& changes) {
  validate(definition);
  refuse_overwritten(definition, changes);
  std::vector<StudyRun> runs;
  std::set<std::string> names;
  for (const auto& condition : conditions_of(definition)) {
    std::string place;
    for (const auto& [setting, value] : condition)
      place += fmt::format("_{}-{}", without_section(setting), value);
    for (const auto seed : definition.seeds) {
      for (const auto& [arm, settings] : definition.arms) {
        StudyRun run;
        run.name = folder_name(fmt::format("{}{}_seed-{}", arm, place, seed));
        constexpr std::size_t kLongestName = 255;  // of a file, in bytes
        if (run.name.size() > kLongestName) {
          throw UsageError(fmt::format(
              "the name of a run's folder would have {} letters, more than {}: shorten the labels "
              "of the arms or the grid",
              run.name.size(),
              kLongestName));
        }
        run.dir = folder / run.name;
        run.arm = arm;
        run.condition = name_of_condition(condition);
        run.seed = seed;
        for (const auto* part : {&definition.base, &changes, &condition, &settings})
          run.settings.insert(run.settings.end(), part->begin(), part->end());
        if (!names.insert(run.name).second) {
          throw UsageError("two runs of the study would be called " + run.name +
                           ": give the arms labels that differ in letters or digits");
        }
        runs.push_back(std::move(run));
      }
    }
  }
  return runs;
}

void find_progress(std::vector<StudyRun>& runs, const Difference& difference) {
  for (auto& run : runs) {
    try {
      find_progress(run, difference);
    } catch (const Error& error) {
      run.progress = Progress::kConflict;
      run.conflict = error.what();
    }
  }
}

}  // namespace kappascope::study
