// SPDX-License-Identifier: Apache-2.0
#include "reports/html/parts/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/ini.h"
#include "lab/report/builders.h"
#include "reports/html/text.h"
#include "reports/number_format.h"

namespace kappascope::reports {
namespace {

using Cells = std::vector<std::string>;

std::string number_cell(const std::string& text) {
  return "<td class=\"number\">" + escape_html(text) + "</td>";
}

std::string cell(double value) {
  return std::isnan(value) ? "–" : decimals(value);
}

std::string name_cell(const std::string& name) {
  return "<td class=\"name\">" + escape_html(name) + "</td>";
}

/// "5", or "3 (1 left out, 2 unpaired)".
std::string pairs_of(const study::Comparison& c) {
  Cells missing;
  if (c.difference.left_out > 0)
    missing.push_back(fmt::format("{} left out", c.difference.left_out));
  if (c.unpaired > 0) missing.push_back(fmt::format("{} unpaired", c.unpaired));
  const std::string pairs = std::to_string(c.difference.pairs);
  return missing.empty() ? pairs : pairs + " (" + listed(missing) + ")";
}

std::string row_of(const study::Comparison& c, bool grid) {
  const auto& d = c.difference;
  std::string row = "<th scope=\"row\">" + escape_html(c.metric) + "</th>";
  if (grid) row += name_cell(c.condition);
  row += name_cell(c.arm) + number_cell(cell(c.arm_median)) + number_cell(cell(c.control_median));
  row += fmt::format("<td class=\"number\">{}{}{}</td>",
                     c.is_significant() ? "<strong>" : "",
                     cell(d.mean),
                     c.is_significant() ? "</strong>" : "");
  row += number_cell(std::isnan(d.lower) ? "–" : decimals(d.lower) + " to " + decimals(d.upper));
  row +=
      number_cell(pairs_of(c)) + number_cell(cell(c.corrected_p)) + number_cell(cell(d.detectable));
  return "<tr>" + row + "</tr>";
}

/// Facts of a run, and its configuration with the names of its sections: "train.batch".
std::map<std::string, std::string> settings_of(const study::RunEnd& run) {
  std::map<std::string, std::string> settings;
  for (const auto& [name, value] : parse_ini(run.fact("config"), run.dir.string()))
    settings[name] = value;
  for (const auto& [key, value] : run.facts) {
    if (key != "config") settings[key] = value;
  }
  // A page is passed on: where files lay on one machine is nobody's business, and their names tell.
  settings["data"] = run.data();
  settings.erase("data.path");
  settings.erase("command");
  return settings;
}

/// Distinct values, in natural order; many are counted.
std::string values_in_words(const std::set<std::string>& values) {
  constexpr std::size_t kMany = 12;
  Cells sorted(values.begin(), values.end());
  std::ranges::sort(sorted, natural_less);
  if (sorted.size() > kMany)
    return fmt::format("{} to {} ({} different)", sorted.front(), sorted.back(), sorted.size());
  std::string text;
  for (const auto& value : sorted)
    text += (text.empty() ? "" : ", ") + (value.empty() ? "–" : value);
  return text;
}

std::string arms_table(const StudyView& study) {
  std::string rows;
  for (const auto& arm : study.arms) {
    std::set<std::string> seeds;
    std::size_t runs = 0;
    std::size_t failed = 0;
    for (const auto& run : study.runs) {
      if (run.arm != arm) continue;
      seeds.insert(run.seed);
      ++runs;
      failed += run.state == "failed" ? 1U : 0U;
    }
    rows += "<tr><th scope=\"row\">" + escape_html(arm) +
            (arm == study.control ? " (control)</th>" : "</th>") +
            table_cell(std::to_string(runs)) + table_cell(std::to_string(failed)) +
            table_cell(values_in_words(seeds)) + "</tr>";
  }
  return table(table_head({"arm", "runs", "diverged", "seeds"}), rows);
}

}  // namespace

std::string comparisons_html(const StudyView& study) {
  const bool grid = study.conditions.size() > 1;
  std::string rows;
  for (const auto& c : study.comparisons) rows += row_of(c, grid);
  Cells names = {"metric"};
  if (grid) names.emplace_back("condition");
  for (const char* name : {"arm",
                           "median",
                           "control",
                           "difference",
                           "95 % interval",
                           "pairs",
                           "p (Holm)",
                           "would find"}) {
    names.emplace_back(name);
  }
  const std::string caption = fmt::format(
      "Difference: the mean over pairs of runs of one seed, arm minus {}, with its interval by "
      "Student's t; bold where it is significant (p below {}, corrected for all tests "
      "made at once). Left out: pairs with a run that diverged or a value that is not to be used; "
      "unpaired: runs without a partner. Would find: the smallest difference that as many pairs of "
      "this spread find in four of five studies.",
      study.control,
      study::kLevel);
  return "<p class=\"caption\">" + escape_html(caption) + "</p>" + table(table_head(names), rows);
}

std::string study_facts_html(const StudyView& study) {
  std::map<std::string, std::map<std::string, std::set<std::string>>> values;  // by key, arm
  for (const auto& run : study.runs) {
    for (const auto& [key, value] : settings_of(run)) values[key][run.arm].insert(value);
  }
  std::string shared;
  std::string changed;
  for (const auto& [key, by_arm] : values) {
    if (key == "label" || key == "condition") continue;  // their settings are here
    std::set<std::string> all;
    for (const auto& [arm, some] : by_arm) all.insert(some.begin(), some.end());
    const std::string head = "<tr><th scope=\"row\">" + escape_html(key) + "</th>";
    if (all.size() == 1 && by_arm.size() == study.arms.size()) {
      if (!all.begin()->empty()) shared += head + table_cell(*all.begin()) + "</tr>";
      continue;
    }
    changed += head;
    for (const auto& arm : study.arms) {
      const auto found = by_arm.find(arm);
      changed += table_cell(found == by_arm.end() ? "–" : values_in_words(found->second));
    }
    changed += "</tr>";
  }
  Cells names = {"setting or fact"};
  names.insert(names.end(), study.arms.begin(), study.arms.end());
  return arms_table(study) + "<h3>What differs between the runs</h3>" +
         table(table_head(names), changed) + "<details><summary>What all runs share</summary>" +
         table(table_head({"setting or fact", "value"}), shared) + "</details>";
}

}  // namespace kappascope::reports
