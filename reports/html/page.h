// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
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

/// An element of the page with an id of its own.
struct PagePart {
  std::string id{}, html{};
};

/// The page taken apart, so that what changed can be sent alone.
struct PageParts {
  std::string contents{};          ///< HTML of the list of places
  std::vector<PagePart> run{};     ///< of the first page, in its order
  std::vector<PagePart> claims{};  ///< of the second
};
PageParts parts_of(const Page& page);

/// What a served page says beside its runs.
struct LiveNote {
  std::uint64_t version = 0;  ///< of what the page shows; changes since are asked for by it
  std::string html{};         ///< which runs are written, and when they last were
};

/// The page as one HTML file that asks for nothing, or with a note as one that asks its own server
/// for what was written since. `arms` are those of the figures.
std::string page_of(const Page& page,
                    const std::vector<Arm>& arms,
                    const std::optional<LiveNote>& live = std::nullopt);

}  // namespace kappascope::reports
