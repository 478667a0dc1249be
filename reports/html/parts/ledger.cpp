// SPDX-License-Identifier: Apache-2.0
#include "reports/html/parts/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/json_depth.h"
#include "reports/html/parts/tables.h"
#include "reports/html/text.h"
#include "reports/number_format.h"
#include "store/evidence.h"

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

/// A verdict as texts, empty where there is nothing to say.
struct Row {
  std::string claim{}, outcome{}, statement{}, condition{};
  std::string left{}, measured{}, lower{}, upper{}, right{}, predicted{};
  std::string witness{}, route{}, proof{}, sizes{}, cases{}, seed{};
  std::string from{};  ///< the run or the study that it was decided on

  bool operator==(const Row&) const = default;
};

/// What was decided alike on several runs is one row of all of them.
std::vector<Row> merged(const std::vector<Row>& rows) {
  std::vector<Row> out;
  for (const Row& row : rows) {
    const auto same = std::ranges::find_if(out, [&](Row other) {
      other.from = row.from;
      return other == row;
    });
    if (same == out.end()) {
      out.push_back(row);
    } else if (same->from != row.from) {
      same->from += ", " + row.from;
    }
  }
  return out;
}

/// "name = number".
std::string side(const std::string& name, const std::string& number) {
  return number.empty() ? name : name + (name.empty() ? "" : " = ") + number;
}

/// Both sides, the measured one with its interval.
std::string numbers(const Row& row) {
  auto actual = side(row.left, row.measured);
  if (!row.lower.empty() && !row.upper.empty())
    actual += " (95 %: " + row.lower + "–" + row.upper + ")";
  const auto stated = side(row.right, row.predicted);
  return actual + (actual.empty() || stated.empty() ? "" : "; ") + stated;
}

std::string how_decided(const Row& row) {
  std::string how = store::how_sure({.outcome = row.outcome,
                                     .proof = row.proof,
                                     .sizes = row.sizes,
                                     .route = row.route,
                                     .cases = row.cases});
  if (!row.seed.empty()) how += ", seed " + row.seed;
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
  const bool open = css != "holds" && css != "refuted" && css != "measured";
  return fmt::format(
      "<span class=\"outcome {}\">{}</span>", open ? "undecided" : css, escape_html(name));
}

std::string html_row(const Row& row, bool with_origin) {
  return fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}{}</td><td>{}{}{}</td>{}</tr>",
                     escape_html(row.claim),
                     outcome(row.outcome),
                     paragraph(row.statement, "statement"),
                     paragraph(row.condition, "condition"),
                     paragraph(numbers(row), "numbers"),
                     witness(row.witness),
                     paragraph(how_decided(row), "condition"),
                     with_origin ? "<td>" + escape_html(row.from) + "</td>" : "");
}

/// A stored row may be of any version of the program: what it lacks stays empty.
Row row_of(const store::VerdictRow& verdict, const std::string& run) {
  auto json = nlohmann::json::object();
  if (json_depth(verdict.json) <= kDeepestJson)
    json = nlohmann::json::parse(verdict.json, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) json = nlohmann::json::object();
  // Numbers without a name say nothing; what rests on a study's runs has no seed of its own.
  const auto number = [&](const char* key) {
    return field(json, "left").empty() ? "" : field(json, key);
  };
  const auto route = field(json, "route");
  return {.claim = verdict.claim,
          .outcome = verdict.outcome,
          .statement = field(json, "statement"),
          .condition = verdict.condition,
          .left = field(json, "left"),
          .measured = number("measured"),
          .lower = number("lower"),
          .upper = number("upper"),
          .right = field(json, "right"),
          .predicted = number("predicted"),
          .witness = field(json, "witness"),
          .route = route,
          .proof = field(json, "proof"),
          .sizes = field(json, "sizes"),
          .cases = field(json, "cases"),
          .seed = route == "study" ? "" : field(json, "seed"),
          .from = run};
}

/// `origin` names the column that tells where a verdict comes from, where there are several.
std::string ledger_of(const std::vector<Row>& all, const char* origin) {
  const auto rows = merged(all);
  std::map<std::string, std::set<std::string>> claims;  // by outcome
  const bool several =
      std::ranges::any_of(all, [&](const Row& row) { return row.from != all.front().from; });
  std::string body;
  for (const Row& row : rows) {
    body += html_row(row, several);
    claims[row.outcome].insert(row.claim);
  }
  std::string sum;
  for (const auto& [name, of] : claims)
    sum += fmt::format("{}{} {}", sum.empty() ? "" : ", ", escape_html(name), of.size());
  std::vector<std::string> names = {"claim", "verdict", "statement, and when it is so", "evidence"};
  if (several) names.emplace_back(origin);
  return "<p class=\"caption\">What the documents state, decided by computation: " + sum +
         ". The witness of a refuted claim is the smallest case found against it; the claim with a "
         "prime is its correction. More: <code>kappascope verify --explain CLAIM</code>.</p>" +
         table(table_head(names), body);
}

}  // namespace

std::string ledger_html(const std::vector<Arm>& arms) {
  std::vector<Row> rows;
  for (const Arm& arm : arms) {
    for (const auto& verdict : arm.verdicts) rows.push_back(row_of(verdict, arm.label));
  }
  if (rows.empty()) {
    return "<p class=\"missing\">No claim was decided on these runs; <code>kappascope verify "
           "--run RUN</code> adds the verdicts.</p>";
  }
  return ledger_of(rows, "run");
}

std::string ledger_html(const std::vector<std::pair<std::string, store::VerdictRow>>& studies) {
  std::vector<Row> rows;
  rows.reserve(studies.size());
  for (const auto& [study, verdict] : studies) rows.push_back(row_of(verdict, study));
  return ledger_of(rows, "study");
}

}  // namespace kappascope::reports
