// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "kappascope/store/schema/alarms.h"

namespace kappascope::cli {

/// Every alarm for --help: its name, when it is raised, and what it has been found to be.
std::string alarms_in_words();

/// "kappa,non_finite", or "any". Throws UsageError, beginning with `option`, for another name.
std::set<store::AlarmId> alarms_named(const std::string& text, const std::string& option);

}  // namespace kappascope::cli
