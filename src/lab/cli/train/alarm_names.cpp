// SPDX-License-Identifier: Apache-2.0
#include "lab/cli/train/alarm_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>
#include <string_view>
#include <vector>

#include "core/wrap.h"
#include "kappascope/core/error.h"

namespace kappascope::cli {

std::string alarms_in_words() {
  constexpr std::size_t kColumn = 18;
  std::string text;
  for (const auto& alarm : store::alarms()) {
    const auto meaning = fmt::format("{} ({})", alarm.meaning, to_string(alarm.role));
    text += fmt::format("  {:<{}}{}",
                        alarm.name,
                        kColumn - 2,
                        wrapped(meaning, {.width = 80, .column = kColumn, .indent = kColumn}));
  }
  return text;
}

std::set<store::AlarmId> alarms_named(const std::string& text, const std::string& option) {
  std::set<store::AlarmId> out;
  std::istringstream names(text);
  for (std::string name; std::getline(names, name, ',');) {
    const auto id = store::find_alarm(name);
    if (id) out.insert(*id);
    if (id) continue;
    std::vector<std::string_view> known;
    for (const auto& alarm : store::alarms()) {
      known.push_back(alarm.name);
      if (name == "any") out.insert(alarm.id);
    }
    if (name != "any") {
      throw UsageError(fmt::format(
          "{}: '{}' is no alarm; there are {}, or any", option, name, fmt::join(known, ", ")));
    }
  }
  if (out.empty()) throw UsageError(option + " names no alarm");
  return out;
}

}  // namespace kappascope::cli
