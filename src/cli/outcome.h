// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace kappascope::cli {

/// The exit status of a command: what it returns, or of what it throws, after one line on stderr: 2
/// for wrong usage, 1 for the rest. What it printed is on stdout by then.
int status_of(const std::function<int()>& command);

}  // namespace kappascope::cli
