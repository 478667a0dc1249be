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
  Topic topic = Topic::kNone;
};

/// A question into which the parts of its topic fold.
struct PageTopic {
  Topic topic{};
  std::string id{}, title{};  ///< plain text
  std::string answer{};       ///< in short, beside the title; plain text, may be empty
};

/// What a reader should see after the first screen: a sentence, and the figure that shows it.
struct PageHighlight {
  std::string body{};    ///< HTML
  std::string figure{};  ///< id; it stands here, and not with its topic
};

/// What a page shows, from top to bottom; parts of a topic that the page has stand there, after
/// those that stand alone. What is about the documents, not about the runs, stands on a second page
/// in the same file, which a link opens.
struct Page {
  std::string title{};    ///< plain text, as the heading
  std::string summary{};  ///< HTML of the first screen above its figure, which is the first one
  std::vector<PageHighlight> highlights{};
  std::string heading{};  ///< over the findings
  std::vector<Finding> findings{};
  std::vector<Figure> figures{};
  std::vector<PageSection> tables{};  ///< between the findings and the other figures
  std::vector<PageSection> facts{};   ///< at the end
  std::vector<PageSection> claims{};  ///< of the second page
  std::vector<PageTopic> topics{};    ///< in their order
  std::vector<std::string> named{};   ///< layers that the highlights speak of
};

/// An element of the page with an id of its own.
struct PagePart {
  std::string id{}, html{};
  std::string home{};  ///< id of the topic's element that holds it, which stands before it
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
