// SPDX-License-Identifier: Apache-2.0
#include "reports/html/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/version.h"
#include "reports/html/assets.h"
#include "reports/html/figure_json.h"
#include "reports/html/parts/glossary.h"
#include "reports/html/parts/sections.h"
#include "reports/html/text.h"

namespace kappascope::reports {
namespace {

std::string section(const std::string& id,
                    const std::string& title,
                    const std::string& body,
                    int level = 2) {
  return fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h{3} id=\"{0}-title\">{1}</h{3}>\n"
      "{2}\n</section>\n",
      id,
      escape_html(title),
      body,
      level);
}

constexpr std::string_view kTopicEnd = "</details>";

std::string topic_html(const PageTopic& topic) {
  return fmt::format(
      "<details class=\"about\" id=\"{}\"><summary><h2>{}</h2> <span "
      "class=\"short\">{}</span></summary>{}",
      topic.id,
      escape_html(topic.title),
      escape_html(topic.answer),
      kTopicEnd);
}

std::string joined(const std::vector<PagePart>& parts) {
  std::string out;
  for (const auto& part : parts)
    out.insert(part.home.empty() ? out.size() : out.size() - kTopicEnd.size(), part.html);
  return out;
}

/// The places of the page in its order.
class Contents {
 public:
  void add(const std::string& id, const std::string& title) {
    items_ += fmt::format("<li>{}</li>", link(id, title));
  }
  void open(const std::string& id, const std::string& title) {
    items_ += fmt::format("<li>{}<ul>", link(id, title));
  }
  void close() { items_ += "</ul></li>"; }
  [[nodiscard]] std::string html() const { return "<ul>" + items_ + "</ul>"; }

 private:
  static std::string link(const std::string& id, const std::string& title) {
    return fmt::format("<a href=\"#{}\">{}</a>", id, escape_html(title));
  }
  std::string items_;
};

/// A part before it has its place.
struct Placed {
  Topic topic{};
  std::string title{};  ///< in the contents; empty: it is not there
  PagePart part{};
};

/// Whether the figure stands on the page of the runs.
bool is_of_runs(const Figure& figure) {
  return !figure.panels.empty() && figure.topic != Topic::kDocuments;
}

/// Everything below the first screen, which ends before figure `first`.
std::vector<Placed> placed_parts(const Page& page, std::size_t first) {
  const auto level = [&](Topic topic) {
    return std::ranges::find(page.topics, topic, &PageTopic::topic) == page.topics.end() ? 2 : 3;
  };
  std::vector<Placed> out;
  const auto add = [&](const std::vector<PageSection>& sections) {
    for (const auto& one : sections)
      out.push_back(
          {one.topic, one.title, {one.id, section(one.id, one.title, one.body, level(one.topic))}});
  };
  add({{"findings",
        page.heading,
        findings_html(page.findings, false, level(Topic::kTraining) + 1),
        Topic::kTraining}});
  add(page.tables);
  for (std::size_t i = first; i < page.figures.size(); ++i) {
    const auto& figure = page.figures[i];
    if (is_of_runs(figure) &&
        std::ranges::find(page.highlights, figure.id, &PageHighlight::figure) ==
            page.highlights.end())
      out.push_back(
          {figure.topic, figure.title, {figure.id, figure_html(figure, level(figure.topic))}});
  }
  if (auto missing = not_drawn_html(page.figures, level(Topic::kNumbers)); !missing.empty())
    out.push_back({Topic::kNumbers, "", {"not-measured", std::move(missing)}});
  add(page.facts);
  return out;
}

void add_highlights(const Page& page, Contents& contents, std::vector<PagePart>& out) {
  if (page.highlights.empty()) return;
  contents.add("highlights", "What stands out");
  out.push_back({"highlights", "<h2 id=\"highlights\">What stands out</h2>\n"});
  for (std::size_t i = 0; i < page.highlights.size(); ++i) {
    const auto& [body, id] = page.highlights[i];
    const auto place = fmt::format("highlight-{}", i + 1);
    out.push_back(
        {place, fmt::format("<div class=\"highlight\" id=\"{}\">{}</div>\n", place, body)});
    const auto figure = std::ranges::find(page.figures, id, &Figure::id);
    if (figure != page.figures.end() && is_of_runs(*figure))
      out.push_back({figure->id, figure_html(*figure, 4)});
  }
}

void add_claims(const Page& page, std::vector<PagePart>& out) {
  if (const auto lemma = findings_html(page.findings, true, 3); !lemma.empty())
    out.push_back({"lemma-2", section("lemma-2", "Lemma 2 on these runs", lemma)});
  for (const auto& figure : page.figures) {
    if (!figure.panels.empty() && figure.topic == Topic::kDocuments)
      out.push_back({figure.id, figure_html(figure, 2)});
  }
  for (const auto& one : page.claims) out.push_back({one.id, section(one.id, one.title, one.body)});
}

std::string live_html(const LiveNote& note) {
  return fmt::format(
      "<p id=\"live\" data-version=\"{}\"><span class=\"link\" role=\"status\">Connecting</span> "
      "<span class=\"runs\">{}</span></p>",
      note.version,
      note.html);
}

}  // namespace

PageParts parts_of(const Page& page) {
  // With a summary the first figure belongs to the first screen.
  const std::size_t lead = page.summary.empty() || page.figures.empty() ? 0 : 1;
  PageParts out;
  Contents contents;
  if (!page.summary.empty()) out.run.push_back({"summary", page.summary});
  if (lead > 0) {
    contents.add("summary", "Summary");
    if (is_of_runs(page.figures.front()))
      out.run.push_back({page.figures.front().id, figure_html(page.figures.front(), 2, true)});
  }
  add_highlights(page, contents, out.run);

  auto placed = placed_parts(page, lead);
  const auto take = [&](const PageTopic* topic) {
    for (auto& [of, title, part] : placed) {
      const bool has_home =
          std::ranges::find(page.topics, of, &PageTopic::topic) != page.topics.end();
      if (topic == nullptr ? has_home : of != topic->topic) continue;
      if (!title.empty()) contents.add(part.id, title);
      if (topic != nullptr) part.home = topic->id;
      out.run.push_back(part);
    }
  };
  take(nullptr);
  for (const auto& topic : page.topics) {
    if (std::ranges::find(placed, topic.topic, &Placed::topic) == placed.end()) continue;
    contents.open(topic.id, topic.title);
    out.run.push_back({topic.id, topic_html(topic)});
    take(&topic);
    contents.close();
  }
  contents.add("glossary", "Glossary");
  add_claims(page, out.claims);
  if (!out.claims.empty()) contents.add("claims", "Claims of the documents");
  out.contents = contents.html();
  return out;
}

std::string page_of(const Page& page,
                    const std::vector<Arm>& arms,
                    const std::optional<LiveNote>& live) {
  const PageParts parts = parts_of(page);
  return fill_template(
      page_html(),
      {{"title", escape_html(page.title)},
       {"version", version()},
       {"connect", live ? "; connect-src 'self'" : ""},
       {"live", live ? live_html(*live) : ""},
       {"css", page_css()},
       {"contents", parts.contents},
       {"run", joined(parts.run)},
       {"glossary", glossary_html()},
       {"claims", joined(parts.claims)},
       {"data", escape_json_for_script(figures_json(arms, page.figures, page.named))},
       {"figures_js", figures_js()},
       {"plot_js", plot_js()},
       {"answers_js", answers_js()},
       {"tables_js", tables_js()},
       {"js", page_js()},
       {"live_js", live ? live_js() : ""}});
}

}  // namespace kappascope::reports
