// SPDX-License-Identifier: Apache-2.0
#include "fuzz/html.h"

#include <nlohmann/json.hpp>

#include "fuzz/figures.h"
#include "reports/html/figure_json.h"
#include "reports/html/parts/ledger.h"
#include "reports/html/parts/sections.h"
#include "reports/html/parts/tables.h"
#include "reports/html/text.h"

namespace kappascope::fuzz {
namespace {

std::vector<reports::Finding> findings_of(Drawing& drawing) {
  std::vector<reports::Finding> findings;
  for (auto left = drawing.input().below(4); left > 0; --left) {
    // Neighbours of one topic share a heading: the number keeps topics apart in plain words, too.
    findings.push_back({.id = drawing.text(),
                        .text = drawing.text(),
                        .certainty = drawing.text(),
                        .warning = drawing.input().flag(),
                        .topic = std::to_string(left) + drawing.text()});
  }
  return findings;
}

void add_facts(Drawing& drawing) {
  int facts = 0;  // a row each, also where the names are of one length
  for (auto& arm : drawing.arms) {
    for (auto left = drawing.input().below(4); left > 0; --left) {
      auto name = std::to_string(++facts) + drawing.text();
      arm.facts.emplace_back(std::move(name), drawing.text());
    }
    if (drawing.input().flag()) arm.facts.emplace_back("config", "x" + drawing.text());
    for (auto left = drawing.input().below(3); left > 0; --left)
      arm.events.push_back(
          {static_cast<std::int64_t>(left), drawing.text(), {drawing.text(), drawing.text()}});
    arm.state = drawing.text();
  }
}

/// A text that has a term of the glossary, or code between backticks, may have their tags.
std::string without_explanations(std::string tags) {
  for (const std::string_view pair : {"<a class href title/a", "<code/code"}) {
    for (auto at = tags.find(pair); at != tags.npos; at = tags.find(pair, at))
      tags.erase(at, pair.size());
  }
  return tags;
}

/// The parts of a page that hold texts of the runs.
std::string tags_of(std::string_view bytes, bool plain) {
  Drawing drawing(bytes, plain);
  const auto findings = findings_of(drawing);
  add_facts(drawing);
  return without_explanations(
      check_html(reports::findings_html(findings, false)) +
      check_html(reports::figure_html(drawing.figure)) +
      check_html(reports::not_drawn_html({drawing.figure})) +
      check_html(reports::facts_html(drawing.arms)) +
      check_html(reports::table(reports::table_head({drawing.text()}),
                                "<tr>" + reports::table_cell(drawing.text()) + "</tr>")));
}

void check_html_writers(std::string_view bytes) {
  expect(tags_of(bytes, false) == tags_of(bytes, true),
         "the tags are those of the same page in plain words");
  const Drawing drawing(bytes, false);
  const auto json = reports::figures_json(drawing.arms, {drawing.figure});
  const auto script = reports::escape_json_for_script(json);
  expect(script.find_first_of("<>&") == script.npos, "data cannot end the script that holds it");
  expect(nlohmann::json::parse(script) == nlohmann::json::parse(json), "and means the same");
  // What stands in a store's verdicts is any text, or JSON of any kind.
  reports::Arm arm;
  Input input(bytes);
  arm.label = input.text();
  arm.verdicts = {{input.text(), input.text(), input.text(), std::string(input.rest())}};
  check_html(reports::ledger_html(std::vector{arm}));
}

std::vector<std::pair<std::string, std::string>> html_seeds() {
  auto seeds = drawing_seeds();
  const auto one = text_of("<i>");
  for (auto& [name, bytes] : seeds) {
    const auto text = text_of(name);
    bytes += '\1' + text + one + text + '\1' + text;
    bytes += '\1' + text + one + '\1' + one + '\1' + text + one + one + one;
  }
  const auto verdict = one + one + text_of("holds") + one;
  seeds.emplace_back(
      "seed-verdict",
      verdict + R"({"statement":"<b>","measured":1.5,"cases":3,"witness":[{"<":">"}]})");
  return seeds;
}

const Registered kHtml({"html", check_html_writers, html_seeds});

}  // namespace
}  // namespace kappascope::fuzz
