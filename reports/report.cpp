// SPDX-License-Identifier: Apache-2.0
#include "kappascope/reports/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "reports/html/parts/ledger.h"
#include "reports/html/parts/sections.h"
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

void add_highlights(const std::vector<Arm>& arms, Page& page) {
  const auto layers = measured_layers(arms);
  for (const auto& one : highlights(arms, page.findings)) {
    page.highlights.push_back({highlight_html(one), one.figure});
    std::ranges::copy_if(layers, std::back_inserter(page.named), [&](const std::string& layer) {
      return one.text.find(layer) != std::string::npos;
    });
  }
}

std::vector<PageTopic> topics_of(const Summary& summary, const std::vector<Finding>& findings) {
  const auto answer = [&](const char* id) {
    const auto found = std::ranges::find(summary.answers, id, &Answer::id);
    return found == summary.answers.end() ? "" : found->answer;
  };
  // Those about the documents stand on a page of their own.
  std::size_t listed = 0, warnings = 0;
  for (const auto& finding : findings) {
    if (is_about_documents(finding)) continue;
    ++listed;
    warnings += finding.warning ? 1U : 0U;
  }
  return {
      {Topic::kTraining,
       "about-training",
       "What happened?",
       counted(listed, "finding") + (warnings > 0 ? fmt::format(", {} to look at", warnings) : "")},
      {Topic::kLayers, "about-layers", "Which layers?", answer("worst_layer")},
      {Topic::kRate, "about-rate", "Is the rate too high?", answer("learning_rate")},
      {Topic::kMean,
       "about-mean",
       "What does the mean cost, and does a bias help?",
       answer("bias")},
      {Topic::kOptimiser, "about-curvature", "What does the optimiser see?", ""},
      {Topic::kNumbers, "about-numbers", "How good are the numbers?", answer("trust")}};
}

}  // namespace

Page page_about(const std::vector<Arm>& arms) {
  const auto summary = summarise(arms);
  auto findings = find_findings(arms);
  Page page{
      .title = title_of(arms),
      .summary = summary_html(summary, arms),
      .heading = "All findings",
      .figures = build_figures(arms),
      .tables = {{"arms-table", "The arms", arms_html(arms), Topic::kTraining},
                 {"layers-table", "The layers", layers_html(arms), Topic::kLayers}},
      .facts = {{"estimates", "How good each estimate is", estimates_html(arms), Topic::kNumbers},
                {"facts", "The facts of the runs", facts_html(arms), Topic::kTraining}},
      .claims = {{"ledger", "The ledger of claims", ledger_html(arms)}},
      .topics = topics_of(summary, findings)};
  page.findings = std::move(findings);
  add_highlights(arms, page);
  const auto runs = runs_of(arms);
  if (runs.size() > arms.size()) {
    page.facts.insert(page.facts.begin(),
                      {"runs-table", "The runs", arms_html(runs), Topic::kTraining});
  }
  return page;
}

std::string html_report(const std::vector<std::filesystem::path>& places) {
  const std::vector<Arm> runs = read_arms(store::runs_at(places));
  const Groups groups(runs);
  return page_of(page_about(groups.arms()), groups.arms());
}

}  // namespace kappascope::reports
