// SPDX-License-Identifier: Apache-2.0
#include "kappascope/reports/report.h"

#include "reports/html/ledger.h"
#include "reports/html/page.h"
#include "reports/html/tables.h"

namespace kappascope::reports {
namespace {

std::string title_of(const std::vector<Arm>& arms) {
  std::string title;
  for (const Arm& arm : arms) title += (title.empty() ? "" : " · ") + arm.label;
  return title;
}

}  // namespace

std::string html_report(const std::vector<std::filesystem::path>& runs) {
  const std::vector<Arm> arms = read_arms(runs);
  return page_of({.title = title_of(arms),
                  .heading = "What happened",
                  .findings = find_findings(arms),
                  .figures = build_figures(arms),
                  .sections = {{"ledger", "The ledger of claims", ledger_html(arms)},
                               {"estimates", "How good each estimate is", estimates_html(arms)},
                               {"facts", "The facts of the runs", facts_html(arms)}}},
                 arms);
}

}  // namespace kappascope::reports
