// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reports/figures.h"
#include "reports/findings.h"
#include "reports/runs/arms.h"

namespace kappascope::reports {

/// A part of the page that is no figure.
struct PageSection {
  std::string id{}, title{};  ///< plain text
  std::string body{};         ///< HTML
};

/// What a page shows, from top to bottom. What is about the documents, not about the runs, stands
/// on a second page in the same file, which a link opens.
struct Page {
  std::string title{};    ///< plain text, as the heading
  std::string summary{};  ///< HTML of the first screen above its figure, which is the first one
  std::string heading{};  ///< over the findings
  std::vector<Finding> findings{};
  std::vector<Figure> figures{};
  std::vector<PageSection> tables{};  ///< between the findings and the other figures
  std::vector<PageSection> facts{};   ///< at the end
  std::vector<PageSection> claims{};  ///< of the second page
};

/// The page as one HTML file that asks for nothing. `arms` are those of the figures.
std::string page_of(const Page& page, const std::vector<Arm>& arms);

}  // namespace kappascope::reports
