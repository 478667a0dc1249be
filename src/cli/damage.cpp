// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "cli/command.h"
#include "core/notice.h"
#include "store/check.h"

namespace kappascope::cli {

bool warn_of_damage(const std::vector<std::filesystem::path>& runs) {
  constexpr std::size_t kShown = 3;
  bool any = false;
  for (const auto& run : runs) {
    const auto damage = store::check_store(run).damage;
    if (damage.empty()) continue;
    any = true;
    std::string shown;
    for (std::size_t i = 0; i < std::min(kShown, damage.size()); ++i)
      shown += (i > 0 ? "; " : "") + damage[i];
    notice(
        "kappascope: warning: {} is damaged in {} and read without: {}{}; "
        "`kappascope check` lists them\n",
        run.string(),
        damage.size() == 1 ? "1 place" : fmt::format("{} places", damage.size()),
        shown,
        damage.size() > kShown ? "; ..." : "");
  }
  return any;
}

}  // namespace kappascope::cli
