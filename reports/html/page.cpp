// SPDX-License-Identifier: Apache-2.0
#include "reports/html/page.h"

#include <fmt/format.h>

#include "core/version.h"
#include "reports/html/assets.h"
#include "reports/html/figure_json.h"
#include "reports/html/parts/glossary.h"
#include "reports/html/parts/sections.h"
#include "reports/html/text.h"

namespace kappascope::reports {
namespace {

std::string section(const std::string& id, const std::string& title, const std::string& body) {
  return fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n{2}\n"
      "</section>\n",
      id,
      escape_html(title),
      body);
}

void add_sections(const std::vector<PageSection>& sections, std::vector<PagePart>& out) {
  for (const auto& one : sections) out.push_back({one.id, section(one.id, one.title, one.body)});
}

/// Figures [begin, end) that can be drawn.
void add_figures(const std::vector<Figure>& figures,
                 std::size_t begin,
                 std::size_t end,
                 bool about_documents,
                 std::vector<PagePart>& out) {
  for (std::size_t i = begin; i < end; ++i) {
    if (!figures[i].panels.empty() && figures[i].about_documents == about_documents)
      out.push_back({figures[i].id, figure_html(figures[i])});
  }
}

std::string joined(const std::vector<PagePart>& parts) {
  std::string out;
  for (const auto& part : parts) out += part.html;
  return out;
}

/// The places of the page in its order.
class Contents {
 public:
  void add(const std::string& id, const std::string& title) {
    items_ += fmt::format("<li><a href=\"#{}\">{}</a></li>", id, escape_html(title));
  }
  void add(const std::vector<PageSection>& parts) {
    for (const auto& part : parts) add(part.id, part.title);
  }
  void add(const std::vector<Figure>& figures, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (!figures[i].panels.empty() && !figures[i].about_documents)
        add(figures[i].id, figures[i].title);
    }
  }
  [[nodiscard]] std::string html() const { return "<ul>" + items_ + "</ul>"; }

 private:
  std::string items_;
};

std::string live_html(const LiveNote& note) {
  return fmt::format(
      "<p id=\"live\" data-version=\"{}\"><span class=\"link\" role=\"status\">Connecting</span> "
      "<span class=\"runs\">{}</span></p>",
      note.version,
      note.html);
}

}  // namespace

PageParts parts_of(const Page& page) {
  const auto& figures = page.figures;
  // With a summary the first figure belongs to the first screen.
  const std::size_t lead = page.summary.empty() || figures.empty() ? 0 : 1;
  PageParts out;
  Contents contents;
  if (!page.summary.empty()) out.run.push_back({"summary", page.summary});
  if (lead > 0) contents.add("summary", "Summary");
  add_figures(figures, 0, lead, false, out.run);

  contents.add("findings", page.heading);
  out.run.push_back(
      {"findings", section("findings", page.heading, findings_html(page.findings, false))});
  contents.add(page.tables);
  add_sections(page.tables, out.run);
  contents.add(figures, lead, figures.size());
  add_figures(figures, lead, figures.size(), false, out.run);
  if (auto missing = not_drawn_html(figures); !missing.empty())
    out.run.push_back({"not-measured", std::move(missing)});
  contents.add(page.facts);
  add_sections(page.facts, out.run);
  contents.add("glossary", "Glossary");

  if (const auto lemma = findings_html(page.findings, true); !lemma.empty())
    out.claims.push_back({"lemma-2", section("lemma-2", "Lemma 2 on these runs", lemma)});
  add_figures(figures, 0, figures.size(), true, out.claims);
  add_sections(page.claims, out.claims);
  if (!out.claims.empty()) contents.add("claims", "Claims of the documents");
  out.contents = contents.html();
  return out;
}

std::string page_of(const Page& page,
                    const std::vector<Arm>& arms,
                    const std::optional<LiveNote>& live) {
  const PageParts parts = parts_of(page);
  return fill_template(page_html(),
                       {{"title", escape_html(page.title)},
                        {"version", version()},
                        {"connect", live ? "; connect-src 'self'" : ""},
                        {"live", live ? live_html(*live) : ""},
                        {"css", page_css()},
                        {"contents", parts.contents},
                        {"run", joined(parts.run)},
                        {"glossary", glossary_html()},
                        {"claims", joined(parts.claims)},
                        {"data", escape_json_for_script(figures_json(arms, page.figures))},
                        {"plotly", plotly_js()},
                        {"figures_js", figures_js()},
                        {"sketch_js", sketch_js()},
                        {"answers_js", answers_js()},
                        {"tables_js", tables_js()},
                        {"js", page_js()},
                        {"live_js", live ? live_js() : ""}});
}

}  // namespace kappascope::reports
