// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <string>

namespace kappascope::cli {

using MessageOf = std::function<std::string(const std::exception&)>;

/// The exit status of a command: what it returns, or of what it throws, after one line on stderr: 2
/// for wrong usage, 1 for the rest. What it printed is on stdout by then. `message_of`: what is
/// said of an error; nothing: its own text.
int status_of(const std::function<int()>& command, const MessageOf& message_of = {});

}  // namespace kappascope::cli
