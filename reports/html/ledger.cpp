// SPDX-License-Identifier: Apache-2.0
#include "reports/html/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "reports/html/tables.h"
#include "reports/html/text.h"
#include "reports/words.h"

namespace kappascope::reports {
namespace {

std::string field(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return "";
  if (found->is_string()) return found->get<std::string>();
  if (found->is_number_integer()) return std::to_string(found->get<std::int64_t>());
  if (found->is_number()) return words(found->get<double>());
  return found->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// "name = number (95 %: a–b)", as far as the verdict has them.
std::string side(const nlohmann::json& json, const char* name, const char* value, bool bounds) {
  std::string out = field(json, name);
  const std::string number = field(json, value);
  if (!number.empty()) out += (out.empty() ? "" : " = ") + number;
  const std::string lower = field(json, "lower");
  const std::string upper = field(json, "upper");
  if (bounds && !lower.empty() && !upper.empty()) out += " (95 %: " + lower + "–" + upper + ")";
  return out;
}

std::string how_decided(const nlohmann::json& json) {
  std::string how = field(json, "route");
  if (const auto cases = field(json, "cases"); !cases.empty()) how += ", " + cases + " cases";
  if (const auto seed = field(json, "seed"); !seed.empty()) how += ", seed " + seed;
  return how;
}

std::string paragraph(const std::string& text, const char* kind) {
  if (text.empty()) return "";
  return fmt::format("<p class=\"{}\">{}</p>", kind, escape_html(text));
}

/// Folded where it is long: most readers want the verdict, few the numbers.
std::string witness(const std::string& text) {
  constexpr std::size_t kLong = 120;
  if (text.size() <= kLong) return paragraph(text.empty() ? "" : "Witness: " + text, "witness");
  return "<details><summary>Witness</summary>" + escape_html(text) + "</details>";
}

std::string outcome(const std::string& name) {
  std::string css = name.substr(0, name.find(' '));
  css.erase(std::remove_if(css.begin(), css.end(), [](char c) { return c < 'a' || c > 'z'; }),
            css.end());
  return fmt::format("<span class=\"outcome {}\">{}</span>", css, escape_html(name));
}

std::string verdict_row(const store::VerdictRow& verdict, const std::string& run) {
  auto json = nlohmann::json::parse(verdict.json, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) json = nlohmann::json::object();
  const auto actual = side(json, "left", "measured", true);
  const auto stated = side(json, "right", "predicted", false);
  const auto numbers = actual + (actual.empty() || stated.empty() ? "" : "; ") + stated;
  return fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}{}</td><td>{}{}{}</td>{}</tr>",
                     escape_html(verdict.claim),
                     outcome(verdict.outcome),
                     paragraph(field(json, "statement"), "statement"),
                     paragraph(verdict.condition, "condition"),
                     paragraph(numbers, "numbers"),
                     witness(field(json, "witness")),
                     paragraph(how_decided(json), "condition"),
                     run.empty() ? "" : "<td>" + escape_html(run) + "</td>");
}

}  // namespace

std::string ledger_html(const std::vector<Arm>& arms) {
  const auto deciding =
      std::count_if(arms.begin(), arms.end(), [](const Arm& arm) { return !arm.verdicts.empty(); });
  if (deciding == 0) {
    return "<p class=\"missing\">No claim was decided on these runs; <code>kappascope verify "
           "--run RUN</code> adds the verdicts.</p>";
  }
  std::string rows;
  std::map<std::string, int> counts;
  for (const Arm& arm : arms) {
    for (const auto& verdict : arm.verdicts) {
      rows += verdict_row(verdict, deciding > 1 ? arm.label : "");
      ++counts[verdict.outcome];
    }
  }
  std::string sum;
  for (const auto& [name, count] : counts) {
    sum += fmt::format("{}{} {}", sum.empty() ? "" : ", ", escape_html(name), count);
  }
  std::vector<std::string> names = {"claim", "verdict", "statement, and when it is so", "evidence"};
  if (deciding > 1) names.emplace_back("run");
  return "<p class=\"caption\">What the documents state, decided by computation: " + sum +
         ". The witness of a refuted claim is the smallest case found against it; the claim with a "
         "prime is its correction. More: <code>kappascope verify --explain CLAIM</code>.</p>" +
         table(table_head(names), rows);
}

}  // namespace kappascope::reports
