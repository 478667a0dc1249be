// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "kappascope/store/schema/layer_probes.h"
#include "lab/cli/settings.h"

namespace kappascope::cli {

/// The settings by what they configure, bound to `settings`, with its values as their defaults.
std::vector<OptionGroup> settings_groups(Settings& settings);

/// The setting that a layer probe is switched by: "probes.gradient-variance".
std::string setting_of(const store::LayerProbe& probe);

/// The settings that most runs name.
std::vector<std::string> common_settings();

}  // namespace kappascope::cli
