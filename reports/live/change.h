// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reports/html/page.h"

namespace kappascope::reports {

/// Everything that a served page shows and that may change.
struct PageState {
  Page page{};
  PageParts parts{};  ///< of that page
  std::vector<std::string> arms{};
  std::string note{};  ///< LiveNote::html
};

/// What takes a page from one state to another, as JSON on one line; empty where they are alike.
/// A figure of which nothing but points changed is sent as the points behind those that both have;
/// page/live.js is the other side. From an empty state it is the whole page.
std::string change_between(const PageState& before, const PageState& now);

}  // namespace kappascope::reports
