// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "lab/cli/settings.h"

namespace kappascope::cli {

/// The settings by what they configure, bound to `settings`, with its values as their defaults.
std::vector<OptionGroup> settings_groups(Settings& settings);

/// The settings that most runs name.
std::vector<std::string> common_settings();

}  // namespace kappascope::cli
