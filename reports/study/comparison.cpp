// SPDX-License-Identifier: Apache-2.0
#include "kappascope/reports/comparison.h"

#include <algorithm>
#include <iterator>

#include "reports/html/ledger.h"
#include "reports/html/page.h"
#include "reports/study/parts.h"
#include "reports/words.h"

namespace kappascope::reports {

namespace {

std::string title_of(const Study& study) {
  return listed({study.arms.begin() + 1, study.arms.end()}) + " against " + study.control;
}

}  // namespace

std::string html_comparison(const ComparisonPage& page) {
  const Study study = read_study(page);
  std::vector<Figure> figures = {effects(study)};
  std::ranges::move(study_figures(study), std::back_inserter(figures));
  finish_figures(figures);

  std::vector<Arm> arms;
  for (const auto& label : study.arms) {
    arms.emplace_back();
    arms.back().label = label;
  }
  std::vector<PageSection> sections = {{"comparisons", "Every comparison", comparisons_html(study)},
                                       {"facts", "The facts of the runs", study_facts_html(study)}};
  const bool decided =
      std::ranges::any_of(study.results, [](const Arm& arm) { return !arm.verdicts.empty(); });
  if (decided) {
    sections.insert(sections.begin(),
                    {"ledger", "The ledger of claims", ledger_html(study.results)});
  }
  return page_of({.title = page.title.empty() ? title_of(study) : page.title,
                  .heading = "What the arms differ by",
                  .findings = study_findings(study),
                  .figures = std::move(figures),
                  .sections = std::move(sections)},
                 arms);
}

}  // namespace kappascope::reports
