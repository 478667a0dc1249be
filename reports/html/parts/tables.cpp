// SPDX-License-Identifier: Apache-2.0
#include "reports/html/parts/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "reports/html/text.h"
#include "reports/number_format.h"
#include "reports/runs/groups.h"

namespace kappascope::reports {
namespace {

struct Kind {
  store::SeriesId name;
  std::optional<store::SeriesId> shrunk{};
  const char* label = "";
};

std::string estimate_row(const Arm& arm, const std::string& layer, const Kind& kind) {
  auto point = arm.last(kind.name, layer);
  if (!point) point = arm.newest(kind.name, layer);
  if (!point) return "";
  const store::Scalar& s = point->scalar;
  const auto shrunk = kind.shrunk ? arm.last(*kind.shrunk, layer) : std::nullopt;
  const auto number = [](const std::optional<double>& v) { return v ? words(*v) : ""; };
  std::string bounds = interval(s);
  if (bounds.empty()) bounds = "none";
  return "<tr><th scope=\"row\">" + escape_html(arm.label) + "</th>" +
         table_cell(layer, " class=\"name\"") + table_cell(kind.label) +
         table_cell(words(s.value), " class=\"number\"") + table_cell(bounds, " class=\"number\"") +
         table_cell(!shrunk ? "" : words(shrunk->scalar.value), " class=\"number\"") +
         table_cell(number(s.n), " class=\"number\"") +
         table_cell(number(s.n_effective), " class=\"number\"") +
         table_cell(status_text(s), " class=\"name\"") +
         table_cell(std::to_string(point->step), " class=\"number\"") + "</tr>";
}

}  // namespace

std::string table_cell(const std::string& text, const char* kind) {
  constexpr std::size_t kLong = 160;
  if (text.size() <= kLong) return fmt::format("<td{}>{}</td>", kind, escape_html(text));
  std::size_t end = 60;  // not within a UTF-8 sequence
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return fmt::format("<td{}><details><summary>{}…</summary>{}</details></td>",
                     kind,
                     escape_html(text.substr(0, end)),
                     escape_html(text));
}

std::string table_head(const std::vector<std::string>& names) {
  std::string out = "<thead><tr>";
  for (const auto& name : names) out += "<th scope=\"col\">" + escape_html(name) + "</th>";
  return out + "</tr></thead>";
}

std::string table(const std::string& head, const std::string& body) {
  return "<div class=\"scroll\" tabindex=\"0\"><table>" + head + "<tbody>" + body +
         "</tbody></table></div>";
}

std::string table_of_runs(const std::vector<std::string>& names,
                          const std::string& body,
                          std::size_t rows) {
  constexpr std::size_t kFew = 3;
  if (rows < kFew) return table(table_head(names), body);
  std::string head = "<thead><tr>";
  for (const auto& name : names)
    head += "<th scope=\"col\"><button type=\"button\">" + escape_html(name) + "</button></th>";
  return "<p class=\"filter\"><label>Rows with <input type=\"search\" placeholder=\"every word of "
         "this\"></label></p><div class=\"scroll\" tabindex=\"0\"><table class=\"runs\">" +
         head + "</tr></thead><tbody>" + body + "</tbody></table></div>";
}

std::string estimates_html(const std::vector<Arm>& arms) {
  static constexpr std::array<Kind, 9> kKinds = {
      {{id::kKappaSigma, id::kKappaSigmaShrunk, "κ(Σ)"},
       {id::kKappaSecondMoment, id::kKappaSecondMomentShrunk, "κ(Σ+μμᵀ)"},
       {id::kKappaWithBias, id::kKappaWithBiasShrunk, "κ(Σ+(μ+b)(μ+b)ᵀ)"},
       {id::kLearningSigma, std::nullopt, "steps to 90 %, Σ"},
       {id::kLearningSecondMoment, std::nullopt, "steps to 90 %, Σ+μμᵀ"},
       {id::kLearningWithBias, std::nullopt, "steps to 90 %, Σ+(μ+b)(μ+b)ᵀ"},
       {id::kLearningSigmaHalf, std::nullopt, "steps to 50 %, Σ"},
       {id::kLearningSecondMomentHalf, std::nullopt, "steps to 50 %, Σ+μμᵀ"},
       {id::kLearningWithBiasHalf, std::nullopt, "steps to 50 %, Σ+(μ+b)(μ+b)ᵀ"}}};
  std::string rows;
  std::size_t count = 0;
  for (const auto& layer : measured_layers(arms)) {
    for (const Arm& arm : arms) {
      for (const Kind& kind : kKinds) {
        const auto row = estimate_row(arm, layer, kind);
        count += row.empty() ? 0U : 1U;
        rows += row;
      }
    }
  }
  if (rows.empty()) return "<p class=\"missing\">No condition number was recorded.</p>";
  return table_of_runs({"arm",
                        "layer",
                        "quantity",
                        "last value",
                        "interval",
                        "shrinkage estimate",
                        "n",
                        "effective n",
                        "status",
                        "step"},
                       rows,
                       count);
}

std::string facts_html(const std::vector<Arm>& arms) {
  std::vector<std::string> keys;
  for (const Arm& arm : arms) {
    for (const auto& [key, value] : arm.facts) {
      if (key != "config" && key != "label" &&
          std::find(keys.begin(), keys.end(), key) == keys.end()) {
        keys.push_back(key);
      }
    }
  }
  std::vector<std::string> names = {"fact"};
  for (const Arm& arm : arms) names.push_back(arm.label);
  std::string rows;
  const auto row = [&](const std::string& name, const auto& value_of) {
    rows += "<tr><th scope=\"row\">" + escape_html(name) + "</th>";
    for (const Arm& arm : arms) rows += table_cell(value_of(arm));
    rows += "</tr>";
  };
  for (const auto& key : keys) row(key, [&](const Arm& arm) { return arm.fact(key); });
  row("state", [](const Arm& arm) { return arm.state; });
  row("steps stored", [](const Arm& arm) { return std::to_string(arm.last_step + 1); });
  std::string out = table(table_head(names), rows);
  for (const Arm& arm : arms) {
    if (const auto config = arm.fact("config"); !config.empty()) {
      out += "<details><summary>Configuration of " + escape_html(arm.label) + "</summary><pre>" +
             escape_html(config) + "</pre></details>";
    }
  }
  for (const Arm* run : runs_of(arms)) {
    const Arm& arm = *run;
    if (arm.events.empty()) continue;
    std::string events;
    for (const auto& [step, time, event] : arm.events) {
      events += "<tr>" + table_cell(std::to_string(step), " class=\"number\"") + table_cell(time) +
                table_cell(event.kind) + table_cell(event.message) + "</tr>";
    }
    out += "<details><summary>Events of " + escape_html(arm.label) + "</summary>" +
           table(table_head({"step", "time", "kind", "message"}), events) + "</details>";
  }
  return out;
}

}  // namespace kappascope::reports
