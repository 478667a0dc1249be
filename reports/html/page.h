// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reports/arms.h"
#include "reports/figures.h"
#include "reports/findings.h"

namespace kappascope::reports {

/// A part below the figures.
struct PageSection {
  std::string id{}, title{};  ///< plain text
  std::string body{};         ///< HTML
};

/// What a page shows, from top to bottom.
struct Page {
  std::string title{};    ///< plain text, as the heading
  std::string heading{};  ///< over the findings
  std::vector<Finding> findings{};
  std::vector<Figure> figures{};
  std::vector<PageSection> sections{};
};

/// The page as one HTML file that asks for nothing. `arms` are those of the figures.
std::string page_of(const Page& page, const std::vector<Arm>& arms);

}  // namespace kappascope::reports
