// SPDX-License-Identifier: Apache-2.0
#include "lab/report/page.h"

#include <iterator>

#include "lab/report/builders.h"
#include "reports/html/page.h"
#include "reports/html/parts/ledger.h"
#include "reports/number_format.h"

namespace kappascope::reports {

namespace {

std::string title_of(const StudyView& study) {
  return listed({study.arms.begin() + 1, study.arms.end()}) + " against " + study.control;
}

}  // namespace

std::string study_page(const study::StudyResult& result,
                       const std::vector<study::RunEnd>& runs,
                       const std::string& title) {
  const StudyView study = view_of(result, runs);
  std::vector<Figure> figures = {effects(study)};
  std::ranges::move(study_figures(study), std::back_inserter(figures));
  finish_figures(figures);

  std::vector<Arm> arms;
  for (const auto& label : study.arms) {
    arms.emplace_back();
    arms.back().label = label;
  }
  std::vector<PageSection> claims;
  if (!study.verdicts.empty()) {
    std::vector<std::pair<std::string, store::VerdictRow>> rows;
    for (const auto& verdict : study.verdicts)
      rows.emplace_back(verdict.study, study::verdict_row(verdict));
    claims = {{"ledger", "The ledger of claims", ledger_html(rows)}};
  }
  return page_of({.title = title.empty() ? title_of(study) : title,
                  .heading = "What the arms differ by",
                  .findings = study_findings(study),
                  .figures = std::move(figures),
                  .tables = {{"comparisons", "Every comparison", comparisons_html(study)}},
                  .facts = {{"facts", "The facts of the runs", study_facts_html(study)}},
                  .claims = std::move(claims)},
                 arms);
}

}  // namespace kappascope::reports
