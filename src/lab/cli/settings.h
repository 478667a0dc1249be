// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "kappascope/probes/attach.h"
#include "lab/train/config.h"

namespace kappascope::cli {

/// Everything a configuration file may say, with the defaults of the library.
struct Settings {
  train::TrainConfig train;
  probes::ProbeOptions probes;
  int64_t kept_rows = 0;       ///< session::SessionOptions::rows
  int64_t curvature_rows = 0;  ///< training rows the Hessian is taken on; 0: by their size
  std::string condition;       ///< experimental condition: `compare` pairs runs within one
};

/// The training rows that the Hessian is taken on, where there are as many: as set, or by default
/// 1,024 images, or windows that predict as many tokens.
int64_t curvature_rows_of(const Settings& settings);

/// Every setting as one set of options, bound to `settings` (settings_options.h has the groups).
po::options_description settings_options(Settings& settings);

/// All of them as INI text: what a run stores and what resuming reads back.
std::string to_ini(Settings settings);

/// Reads such text. Throws Error when it does not parse.
Settings from_ini(const std::string& text);

/// The defaults with `changes` (setting, value) made in their order, the last of a setting
/// counting. Throws UsageError that begins with `where` for one that does not exist or cannot be
/// read.
Settings settings_with(const std::vector<std::pair<std::string, std::string>>& changes,
                       const std::string& where);

/// The arm's name in reports: the label, or one made from the bias.
std::string label_of(const train::TrainConfig& config);

}  // namespace kappascope::cli
