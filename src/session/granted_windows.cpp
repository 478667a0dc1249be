// SPDX-License-Identifier: Apache-2.0
#include "session/granted_windows.h"

#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <sstream>
#include <string>

namespace kappascope::session {

tensor::State state_of(const GrantedWindows& windows) {
  tensor::State out;
  out.set("probes", std::ssize(windows.parts));
  for (std::size_t i = 0; i < windows.parts.size(); ++i)
    out.set(fmt::format("parts {}", i), windows.parts[i]);
  std::vector<std::string> names(windows.places.size());
  for (const auto& [name, place] : windows.places) names.at(static_cast<std::size_t>(place)) = name;
  out.set("layers", fmt::format("{}", fmt::join(names, "\n")));
  return out;
}

GrantedWindows granted_windows(const tensor::State& state) {
  GrantedWindows out;
  for (std::int64_t i = 0; i < state.integer("probes"); ++i)
    out.parts.push_back(state.integer(fmt::format("parts {}", i)));
  std::istringstream layers(state.text("layers"));
  for (std::string name; std::getline(layers, name);)
    out.places.emplace(name, std::ssize(out.places));
  return out;
}

}  // namespace kappascope::session
