// SPDX-License-Identifier: Apache-2.0
#include "reports/html/page.h"

#include <fmt/format.h>

#include "kappascope/core/version.h"
#include "reports/html/assets.h"
#include "reports/html/figure_json.h"
#include "reports/html/tables.h"
#include "reports/html/text.h"

namespace kappascope::reports {

std::string page_of(const Page& page, const std::vector<Arm>& arms) {
  const std::string title = escape_html(page.title);
  const std::string findings = findings_html(page.findings);
  const std::string plots = figures_html(page.figures);
  std::string sections;
  for (const auto& [id, heading, body] : page.sections) {
    sections += fmt::format(
        "<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n{2}\n"
        "</section>\n",
        id,
        escape_html(heading),
        body);
  }
  const std::string data = escape_json_for_script(figures_json(arms, page.figures));
  return fill_template(page_html(),
                       {{"title", title},
                        {"version", version()},
                        {"css", page_css()},
                        {"heading", page.heading},
                        {"findings", findings},
                        {"figures", plots},
                        {"sections", sections},
                        {"data", data},
                        {"plotly", plotly_js()},
                        {"js", page_js()}});
}

}  // namespace kappascope::reports
