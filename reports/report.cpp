// SPDX-License-Identifier: Apache-2.0
#include "kappascope/reports/report.h"

#include "kappascope/core/version.h"
#include "reports/arms.h"
#include "reports/figures.h"
#include "reports/findings.h"
#include "reports/html/assets.h"
#include "reports/html/figure_json.h"
#include "reports/html/ledger.h"
#include "reports/html/tables.h"
#include "reports/html/text.h"

namespace kappascope::reports {

std::string html_report(const std::vector<std::filesystem::path>& runs) {
  const std::vector<Arm> arms = read_arms(runs);
  const std::vector<Figure> figures = build_figures(arms);
  std::string title;
  for (const Arm& arm : arms) title += (title.empty() ? "" : " · ") + arm.label;
  title = escape_html(title);
  const std::string findings = findings_html(find_findings(arms));
  const std::string plots = figures_html(figures);
  const std::string ledger = ledger_html(arms);
  const std::string estimates = estimates_html(arms);
  const std::string facts = facts_html(arms);
  const std::string data = escape_json_for_script(figures_json(arms, figures));
  return fill_template(page_html(),
                       {{"title", title},
                        {"version", version()},
                        {"css", page_css()},
                        {"findings", findings},
                        {"figures", plots},
                        {"ledger", ledger},
                        {"estimates", estimates},
                        {"facts", facts},
                        {"data", data},
                        {"plotly", plotly_js()},
                        {"js", page_js()}});
}

}  // namespace kappascope::reports
