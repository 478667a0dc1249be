// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kappascope/core/paired.h"

namespace kappascope::cli {

/// What a run ended with, as `compare` needs it.
struct RunEnd {
  std::filesystem::path dir;
  std::string arm, condition, seed, state;
  struct Last {
    double value = 0;  ///< NaN where its status says that it is not to be used
    std::int64_t step = 0;
  };
  std::map<std::string, Last> values;  ///< last value of each metric of the whole model
};

/// Reads the runs themselves, or those in the folders that are given. Throws when there is none.
std::vector<RunEnd> read_ends(const std::vector<std::filesystem::path>& paths);

/// One arm against the control under one condition.
struct Comparison {
  std::string metric, condition, arm, control;
  double arm_median = 0, control_median = 0;
  std::int64_t unpaired = 0;    ///< runs of either arm whose seed the other lacks
  PairedDifference difference;  ///< arm - control, paired by seed
  double corrected_p = 0;       ///< over all comparisons made at once (Holm)
};

/// All arms against `control` for each metric and condition. A run whose loss left the finite
/// numbers, or whose value is not to be used (a spectrum that did not converge), is counted and
/// left out. Throws Error when a run is not finished, UsageError when no run has that arm, a
/// finished run lacks the metric, two runs of an arm share condition and seed, or the two of a pair
/// recorded the metric last at different steps.
std::vector<Comparison> compare_runs(const std::vector<RunEnd>& runs,
                                     const std::string& control,
                                     const std::vector<std::string>& metrics);

void print_comparisons(const std::vector<Comparison>& comparisons);
nlohmann::json comparisons_json(const std::vector<Comparison>& comparisons);

}  // namespace kappascope::cli
