// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kappascope/study/warnings.h"

namespace kappascope::reports {

/// The trainings of one problem, and what the alarms were worth on them.
struct WarningGroup {
  std::string name{};
  std::int64_t trainings = 0, with_spikes = 0, spikes = 0, steps = 0;
  std::vector<study::WarningRecord> records{};
};

/// What is said of all of them.
struct WarningStudy {
  std::vector<WarningGroup> groups{};  ///< the last: all trainings together
  std::vector<std::string> plain{};    ///< rules that anybody has
  std::int64_t horizon = 0, first_step = 0;
  std::string command{};
};

/// As experiments/ALARMS.md: a table a group, and in words which rules lead, and what κ does.
std::string warnings_markdown(const WarningStudy& study);

/// What it begins with, by which the file is known to be replaceable.
inline constexpr const char* kWarningsMark = "# What the alarms are worth";

}  // namespace kappascope::reports
