// SPDX-License-Identifier: Apache-2.0
#include "reports/html/page.h"

#include <fmt/format.h>

#include "kappascope/core/version.h"
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

std::string sections(const std::vector<PageSection>& parts) {
  std::string out;
  for (const auto& part : parts) out += section(part.id, part.title, part.body);
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

}  // namespace

std::string page_of(const Page& page, const std::vector<Arm>& arms) {
  // With a summary the first figure belongs to the first screen.
  const bool led = !page.summary.empty() && !page.figures.empty();
  const auto lead = static_cast<std::ptrdiff_t>(led ? 1 : 0);
  const std::vector<Figure> first(page.figures.begin(), page.figures.begin() + lead);
  const std::vector<Figure> rest(page.figures.begin() + lead, page.figures.end());

  Contents contents;
  if (led) contents.add("summary", "Summary");
  contents.add("findings", page.heading);
  contents.add(page.tables);
  contents.add(rest, 0, rest.size());
  contents.add(page.facts);
  contents.add("glossary", "Glossary");

  std::string claims = findings_html(page.findings, true);
  if (!claims.empty()) claims = section("lemma-2", "Lemma 2 on these runs", claims);
  claims += figures_html(page.figures, true) + sections(page.claims);
  if (!claims.empty()) contents.add("claims", "Claims of the documents");

  return fill_template(
      page_html(),
      {{"title", escape_html(page.title)},
       {"version", version()},
       {"css", page_css()},
       {"contents", contents.html()},
       {"summary", page.summary + figures_html(first, false)},
       {"findings", section("findings", page.heading, findings_html(page.findings, false))},
       {"tables", sections(page.tables)},
       {"figures", figures_html(rest, false)},
       {"facts", not_drawn_html(page.figures) + sections(page.facts)},
       {"glossary", glossary_html()},
       {"claims", claims},
       {"data", escape_json_for_script(figures_json(arms, page.figures))},
       {"plotly", plotly_js()},
       {"figures_js", figures_js()},
       {"js", page_js()}});
}

}  // namespace kappascope::reports
