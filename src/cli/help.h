// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/command.h"

namespace kappascope::cli {

/// The text of --help in lines of at most 80 characters: synopsis, what the command does, its
/// arguments, its options, the common settings, and the names of the groups.
std::string help_text(const Usage& usage);

/// The text of --help GROUP; "all" is every group. Throws UsageError for a group that does not
/// exist.
std::string help_text(const Usage& usage, const std::string& group);

/// The positional argument as help shows it: "RUN...", or "[DIR]" where it may be left out.
std::string positional_name(const Usage& usage);

}  // namespace kappascope::cli
