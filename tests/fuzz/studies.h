// SPDX-License-Identifier: Apache-2.0
// What holds of every study that is accepted.
#pragma once

#include <optional>
#include <set>

#include "fuzz/fuzz.h"
#include "lab/study/study.h"

namespace kappascope::fuzz {

/// Reads the definition and plans its runs in the folder; whether it was accepted.
inline bool check_definition(const std::filesystem::path& file,
                             const std::filesystem::path& folder) {
  std::optional<study::StudyDefinition> definition;
  if (!accepted([&] { definition = study::read_definition(file); })) return false;
  study::validate(*definition);
  auto runs = static_cast<double>(definition->arms.size() * definition->seeds.size());
  for (const auto& [setting, values] : definition->grid) runs *= static_cast<double>(values.size());
  if (runs > 500) return true;
  std::vector<study::StudyRun> planned;
  if (!accepted([&] { planned = study::plan_runs(*definition, folder); })) return false;
  expect(static_cast<double>(planned.size()) == runs, "there is a run an arm, condition and seed");
  std::set<std::string> names;
  for (const auto& run : planned) {
    expect(names.insert(run.name).second, "no two runs share a folder");
    expect(run.dir.parent_path() == folder && run.dir.filename() == run.name && run.name != "." &&
               run.name != "..",
           "a run lies in the folder of its study");
  }
  study::find_progress(planned);
  for (const auto& run : planned)
    expect(run.progress == study::Progress::kMissing, "no run was there");
  return true;
}

}  // namespace kappascope::fuzz
