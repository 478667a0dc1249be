// SPDX-License-Identifier: Apache-2.0
#include "kappascope/reports/report.h"

#include <fmt/format.h>

#include "reports/html/parts/ledger.h"
#include "reports/html/parts/summary.h"
#include "reports/html/parts/tables.h"
#include "reports/number_format.h"
#include "reports/report_page.h"
#include "reports/runs/groups.h"

namespace kappascope::reports {
namespace {

std::string title_of(const std::vector<Arm>& arms) {
  constexpr std::size_t kNamed = 3;
  if (arms.size() == 1) return arms.front().label;
  std::vector<std::string> labels;
  for (std::size_t a = 1; a < arms.size() && a < kNamed; ++a) labels.push_back(arms[a].label);
  if (arms.size() > kNamed) labels.push_back(fmt::format("{} more", arms.size() - kNamed));
  return listed(labels) + " against " + arms.front().label;
}

}  // namespace

Page page_about(const std::vector<Arm>& arms) {
  Page page{.title = title_of(arms),
            .summary = summary_html(summarise(arms), arms),
            .heading = "What happened",
            .findings = find_findings(arms),
            .figures = build_figures(arms),
            .tables = {{"arms-table", "The arms", arms_html(arms)},
                       {"layers-table", "The layers", layers_html(arms)}},
            .facts = {{"estimates", "How good each estimate is", estimates_html(arms)},
                      {"facts", "The facts of the runs", facts_html(arms)}},
            .claims = {{"ledger", "The ledger of claims", ledger_html(arms)}}};
  const auto runs = runs_of(arms);
  if (runs.size() > arms.size())
    page.facts.insert(page.facts.begin(), {"runs-table", "The runs", arms_html(runs)});
  return page;
}

std::string html_report(const std::vector<std::filesystem::path>& places) {
  const std::vector<Arm> runs = read_arms(store::runs_at(places));
  const Groups groups(runs);
  return page_of(page_about(groups.arms()), groups.arms());
}

}  // namespace kappascope::reports
