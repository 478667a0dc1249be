// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>

namespace kappascope::cli {

/// Prints a value of nlohmann::json on a line of standard output. What is no UTF-8, as a path may
/// be, is written with replacement characters.
template <typename Json>
void print_json(const Json& json) {
  fmt::print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

/// The same for JSON that is text already. Not by say(), whose numbers are no JSON.
inline void print_json_text(const std::string& json) {
  fmt::print("{}\n", json);
}

}  // namespace kappascope::cli
