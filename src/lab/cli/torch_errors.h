// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

namespace kappascope::cli {

/// What an error says; of LibTorch's without its stack trace and its place in LibTorch's sources.
std::string torch_message(const std::exception& error);

}  // namespace kappascope::cli
