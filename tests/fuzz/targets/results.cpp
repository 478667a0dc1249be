// SPDX-License-Identifier: Apache-2.0
// Results of studies as JSON, and the tables that are made of them: the Markdown of the studies,
// the ledger of claims as Markdown and as HTML.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "fuzz/html.h"
#include "lab/report/markdown.h"
#include "lab/study/result.h"
#include "reports/html/parts/ledger.h"

namespace kappascope::fuzz {
namespace {

/// Bars that part the cells of a row: those that no backslash takes the meaning of.
std::size_t cells_of(std::string_view row) {
  std::size_t bars = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] == '\\') {
      ++i;
    } else if (row[i] == '|') {
      ++bars;
    }
  }
  return bars;
}

/// Every table of the text has as many cells in each row as in its first.
void check_tables(const std::string& text) {
  std::size_t cells = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    const auto line = std::string_view(text).substr(begin, end - begin);
    const auto found = line.starts_with('|') ? cells_of(line) : 0;
    expect(cells == 0 || found == 0 || found == cells, "rows of a table have its columns");
    cells = found;
    begin = end + 1;
  }
}

void check_results(std::string_view bytes) {
  std::optional<std::vector<study::StudyResult>> results;
  if (!accepted([&] { results = study::parse_results(std::string(bytes)); })) return;
  const auto written = study::results_json(*results);
  expect(study::results_json(study::parse_results(written)) == written,
         "results that were written are read as they were");
  // The library makes whole numbers of fractions and of true.
  const auto original = nlohmann::json::parse(bytes), again = nlohmann::json::parse(written);
  for (std::size_t i = 0; i < results->size(); ++i) {
    for (const auto* count : {"seeds", "runs", "ended"}) {
      expect(original["studies"].size() == results->size() &&
                 (!original["studies"].is_array() ||
                  original["studies"][i][count] == again["studies"][i][count]),
             "counts are those of the text");
    }
  }
  std::size_t lines = 0;
  for (const auto& result : *results)
    lines += 2 * result.verdicts.size() + result.comparisons.size() + result.arms.size();
  const auto markdown = reports::study_markdown(*results);
  check_tables(markdown);
  // Headings, what is said of a study, and three heads of tables.
  expect(static_cast<std::size_t>(std::ranges::count(markdown, '\n')) <=
             30 + 20 * results->size() + lines,
         "no text adds a line");
  for (const auto& result : *results) {
    std::vector<std::pair<std::string, store::VerdictRow>> rows;
    for (const auto& verdict : result.verdicts)
      rows.emplace_back(verdict.study, study::verdict_row(verdict));
    check_html(reports::ledger_html(rows));
  }
}

std::vector<std::pair<std::string, std::string>> result_seeds() {
  study::StudyResult result;
  result.name = "pgb";
  result.version = "0.2.0";
  result.command = "kappascope sweep pgb.ini";
  result.data = "mnist";
  result.steps = "100, 200";
  result.seeds = 3;
  result.runs = result.ended = 6;
  result.arms = {{.arm = "no bias", .runs = 3},
                 {.arm = "a|b", .runs = 3, .parameters = 12, .memory = 1e6}};
  study::Comparison comparison;
  comparison.metric = "loss/test";
  comparison.arm = "a|b";
  comparison.control = "no bias";
  comparison.difference.pairs = 3;
  result.comparisons = {comparison};
  study::ClaimVerdict verdict;
  verdict.claim = "P-X3";
  verdict.source = "the document, section 1";
  verdict.statement = "κ(Σ) < κ(Σ+μμᵀ)";
  verdict.verdict.left = "κ";
  verdict.verdict.lower = 1;
  verdict.verdict.upper = 2;
  result.verdicts = {verdict};
  auto whole = study::results_json({result});
  auto fraction = whole;
  fraction.replace(fraction.find("\"seeds\":3"), 9, "\"seeds\":2.5");
  return {
      {"seed-whole", whole}, {"seed-fraction", fraction}, {"seed-none", study::results_json({})}};
}

const Registered kResults({"results", check_results, result_seeds});

}  // namespace
}  // namespace kappascope::fuzz
