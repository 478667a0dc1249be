// SPDX-License-Identifier: Apache-2.0
#include "reports/html/parts/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/figures/builders.h"
#include "reports/findings/wording.h"
#include "reports/html/parts/gauge.h"
#include "reports/html/parts/glossary.h"
#include "reports/html/parts/tables.h"
#include "reports/html/text.h"
#include "reports/number_format.h"

namespace kappascope::reports {
namespace {

/// Readings that a tile has room for; the table of arms has the others.
constexpr std::size_t kInTile = 2;

/// Its word as a class of the style sheet: "cannot-tell".
std::string css_of(Grade grade) {
  std::string name(to_string(grade));
  std::ranges::replace(name, ' ', '-');
  return name;
}

/// A grade in a word. What to change is not good or bad itself: it is more or less urgent.
std::string badge(const Answer& answer) {
  const auto as_advice = [](Grade grade) -> std::string_view {
    switch (grade) {
      case Grade::kBad:
        return "urgent";
      case Grade::kWatch:
        return "a trial";
      case Grade::kOpen:
        return "undecided";
      default:
        return to_string(grade);
    }
  };
  return fmt::format("<span class=\"grade {}\">{}</span>",
                     css_of(answer.grade),
                     answer.id == "next_step" ? as_advice(answer.grade) : to_string(answer.grade));
}

/// A link where the page has the place.
std::string answer_link(const Answer& answer) {
  std::string text = escape_html(answer.answer);
  if (answer.figure.empty()) return text;
  return fmt::format("<a href=\"#{}\">{}</a>", answer.figure, text);
}

/// What the reading says, after the arm that it is of.
std::string of_arm(const Reading& reading, const std::vector<Arm>& arms, const std::string& text) {
  if (arms.size() < 2) return text;
  return fmt::format(
      "<span class=\"swatch\" data-arm=\"{}\"></span><span class=\"arm\">{}</span> {}",
      reading.arm,
      escape_html(arms[reading.arm].label),
      text);
}

/// What the mark and the shaded part of the bars are.
std::string scale(const Answer& answer, const std::vector<Arm>& arms) {
  const std::string usual =
      answer.usual.empty()
          ? ""
          : fmt::format("<p class=\"scale usual\">usual at this width and stage: {}</p>",
                        escape_html(answer.usual));
  const auto with_interval = std::ranges::find_if(answer.readings, [](const Reading& reading) {
    return reading.gauge && (reading.gauge->lower || reading.gauge->upper);
  });
  const bool interval = with_interval != answer.readings.end();
  const bool seeds = interval && arms[with_interval->arm].seeds > 1;
  return "<p class=\"scale\">" + escape_html(answer.threshold) + "</p>" + usual +
         (interval ? fmt::format("<p class=\"scale interval\">{}</p>",
                                 seeds ? "lowest to highest that the seeds allow" : answer.interval)
                   : "");
}

/// A verdict, and a number with its bar an arm; what explains them is folded.
std::string tile(const Answer& answer, const std::vector<Arm>& arms, Explain& explain) {
  std::string readings, intervals;
  std::vector<Gauge> gauges;
  for (std::size_t i = 0; i < answer.readings.size() && i < kInTile; ++i)
    if (answer.readings[i].gauge) gauges.push_back(*answer.readings[i].gauge);
  for (std::size_t i = 0; i < answer.readings.size() && i < kInTile; ++i) {
    const Reading& reading = answer.readings[i];
    readings += fmt::format("<li>{}{}</li>",
                            of_arm(reading, arms, explain(reading.number)),
                            reading.gauge ? gauge_html(*reading.gauge, gauges) : "");
    if (!reading.interval.empty())
      intervals += fmt::format("<li>{}</li>", of_arm(reading, arms, explain(reading.interval)));
  }
  if (answer.readings.size() > kInTile) {
    readings += fmt::format("<li><a href=\"#arms-table\">and {} more</a></li>",
                            counted(answer.readings.size() - kInTile, "arm"));
  }
  return fmt::format(
      "<div class=\"tile {}\" data-answer=\"{}\"><h2>{}</h2><p class=\"answer\">{} {}</p>"
      "<ul>{}</ul>{}<details><summary>why</summary><ul>{}</ul><p>{}</p></details></div>",
      css_of(answer.grade),
      answer.id,
      escape_html(answer.question),
      answer_link(answer),
      badge(answer),
      readings,
      gauges.empty() ? "" : scale(answer, arms),
      intervals,
      explain(answer.why));
}

/// The lowest and the highest over the layers: "12 % to 64 %".
std::string absorbed_cell(const Arm& arm) {
  std::vector<Absorbed> all;
  bool any = false;
  for (const auto& layer : layers_of(arm, id::kBiasResidual)) {
    const auto taken = absorbed(arm, layer);
    any = any || taken;
    if (taken && taken->resolved) all.push_back(*taken);
  }
  if (all.empty()) return any ? "not resolved" : "no bias";
  const auto [low, high] = std::ranges::minmax_element(all, {}, &Absorbed::share);
  const auto least = in_words(*low), most = in_words(*high);
  return least == most ? least : least + " to " + most;
}

/// As the page's script reads it.
std::string sort_value(double value) {
  return std::isinf(value) ? value > 0 ? "Infinity" : "-Infinity" : fmt::format("{}", value);
}

/// κ of the W_d block, or the steps to learn 90 %.
std::string layer_cell(const std::optional<store::StepValue>& point,
                       bool in_steps,
                       const std::string& where) {
  if (!point) return "<td class=\"number\">not measured</td>";
  const store::Scalar& s = point->scalar;
  const std::string bounds = interval(s);
  const std::string value = in_steps                  ? steps_in_words(s)
                            : is_resolved(s)          ? words(s.value)
                            : s.lower && *s.lower > 1 ? "at least " + words(*s.lower)
                                                      : "not resolved";
  return fmt::format("<td class=\"number{}\" data-value=\"{}\">{}{}{}</td>",
                     is_resolved(s) ? "" : " unresolved",
                     sort_value(in_steps ? s.value : least_of(s)),
                     escape_html(value),
                     where.empty() ? "" : " in " + escape_html(where),
                     bounds.empty() ? "" : "<small>" + escape_html(bounds) + "</small>");
}

std::string number_cell(const std::optional<store::StepValue>& point, bool share) {
  if (!point) return "<td class=\"number\">not measured</td>";
  const auto& s = point->scalar;
  return fmt::format("<td class=\"number{}\" data-value=\"{}\">{}</td>",
                     is_resolved(s) ? "" : " unresolved",
                     sort_value(s.value),
                     escape_html(share ? percent(s.value) : words(s.value)));
}

}  // namespace

std::string summary_html(const Summary& summary, const std::vector<Arm>& arms) {
  Explain explain;
  std::string tiles;
  for (const Answer& answer : summary.answers) tiles += tile(answer, arms, explain);
  const auto span = [](const char* kind, const std::string& text) {
    return text.empty() ? "" : fmt::format(" <span class=\"{}\">{}</span>", kind, text);
  };
  return fmt::format(
      "<section id=\"summary\" aria-label=\"Summary\">"
      "<p class=\"headline\">{}{}{}</p><p class=\"facts-line\"><span>{}</span> "
      "<button type=\"button\" id=\"copy\">Copy as Markdown</button></p>"
      "<div class=\"tiles\">{}</div></section>",
      escape_html(summary.headline),
      span("basis", escape_html(summary.basis)),
      span("certainty", explain(summary.certainty)),
      escape_html(summary.facts),
      tiles);
}

std::string arms_html(const std::vector<const Arm*>& arms) {
  std::string rows;
  std::vector<WorstLayer> worst(arms.size());
  std::ranges::transform(arms, worst.begin(), [](const Arm* arm) { return worst_layer_of(*arm); });
  const bool in_steps = std::ranges::any_of(worst, &WorstLayer::in_steps);
  for (std::size_t a = 0; a < arms.size(); ++a) {
    const Arm& arm = *arms[a];
    const auto point = worst[a].in_steps == in_steps ? worst[a].point : std::nullopt;
    rows += "<tr><th scope=\"row\">" + escape_html(arm.label) + "</th>" +
            table_cell(arm.state, " class=\"name\"") +
            table_cell(grouped(static_cast<double>(arm.last_step + 1)), " class=\"number\"") +
            number_cell(arm.last(id::kLossTest), false) +
            layer_cell(point, in_steps, !point ? "" : point->scalar.layer) +
            table_cell(absorbed_cell(arm), " class=\"number\"") +
            number_cell(arm.last(id::kHessianLambda.at(1)), false) +
            number_cell(arm.last(id::kCostTotal), true) + "</tr>";
  }
  return table_of_runs({"arm",
                        "state",
                        "steps",
                        "test loss",
                        in_steps ? "steps to 90 % of the slowest layer" : "worst κ of a W_d block",
                        "of the mean the bias absorbed",
                        "λ1",
                        "probing"},
                       rows,
                       arms.size());
}

std::string arms_html(const std::vector<Arm>& arms) {
  std::vector<const Arm*> all(arms.size());
  std::ranges::transform(arms, all.begin(), [](const Arm& arm) { return &arm; });
  return arms_html(all);
}

std::string layers_html(const std::vector<Arm>& arms) {
  std::vector<std::string> head = {"layer"};
  for (const Arm& arm : arms) head.push_back(arm.label);
  const auto table_of = [&](const std::string& prefix, const char* caption, const auto& cell) {
    std::string rows;
    for (const auto& layer : layers_of(arms, prefix)) {
      rows += "<tr><th scope=\"row\">" + escape_html(layer) + "</th>";
      for (const Arm& arm : arms) rows += cell(arm, layer);
      rows += "</tr>";
    }
    if (rows.empty()) return rows;
    return "<p class=\"caption\">" + Explain()(caption) + "</p>" + table(table_head(head), rows);
  };
  const auto tables =
      table_of(id::kLearning,
               "Steps of gradient descent to learn 90 %, at the last snapshot, with their 95 % "
               "interval.",
               [](const Arm& arm, const std::string& layer) {
                 return layer_cell(arm.newest(block_steps(arm, layer), layer), true, "");
               }) +
      table_of(id::kKappas,
               "κ of the W_d block at the last snapshot, with its 95 % interval; of what is not "
               "resolved its lower end.",
               [](const Arm& arm, const std::string& layer) {
                 return layer_cell(arm.last(block_kappa(arm, layer), layer), false, "");
               });
  return tables.empty() ? "<p class=\"missing\">No layer was measured.</p>" : tables;
}

}  // namespace kappascope::reports
