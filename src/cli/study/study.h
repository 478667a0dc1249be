// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cli/settings.h"

namespace kappascope::cli {

using Changes = std::vector<std::pair<std::string, std::string>>;  ///< setting, value

/// A study as its file has it: settings that all its runs share, the arms that it compares, the
/// conditions under which it does, and how many seeds.
struct Study {
  std::string name;                                   ///< the file's stem
  std::vector<std::string> claims;                    ///< that it measures
  std::vector<std::string> metrics;                   ///< what is compared, as the store names it
  std::int64_t seeds = 1;                             ///< train.seed = 1 ... seeds
  std::vector<std::pair<std::string, Changes>> arms;  ///< the first is the control
  /// Setting and its values; a condition is one of each.
  std::vector<std::pair<std::string, std::vector<std::string>>> grid;
  Changes base;  ///< the file's settings
};

/// Reads [study], [arms] and [grid]; all else are settings, which runs_of looks at. Values in
/// [arms] and [grid] hold no spaces. Throws UsageError naming the file: unreadable, no arms, no
/// seeds, an arm that is no list of setting=value.
Study read_study(const std::filesystem::path& file);

/// One training of a study.
struct StudyRun {
  std::string name;       ///< of its folder
  std::string arm;        ///< what is compared
  std::string condition;  ///< under what; empty without a grid
  std::uint64_t seed = 0;
  Settings settings;
};

/// All of them: conditions, then seeds, then arms, so that a sweep that is stopped holds whole
/// pairs. `more` comes after the file's settings and before those of arm and condition. Throws
/// UsageError when the settings of one cannot be meant.
std::vector<StudyRun> runs_of(const Study& study, const Changes& more);

}  // namespace kappascope::cli
