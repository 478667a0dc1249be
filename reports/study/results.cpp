// SPDX-License-Identifier: Apache-2.0
#include "kappascope/reports/results.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "kappascope/core/error.h"
#include "kappascope/core/markdown.h"
#include "reports/words.h"

namespace kappascope::reports {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kHead =
    "# Results of the studies\n\n"
    "Generated from stored runs by `kappascope results`: do not edit. Differences are paired by "
    "seed: mean, 95 % interval\n"
    "by Student's t, p-values corrected for the number of comparisons in their table (Holm). A "
    "verdict speaks of these runs,\n"
    "at their size and on their data:\n\n"
    "- *holds here*: what the document says is seen, with less than 5 % chance of seeing it by "
    "accident;\n"
    "- *not so here*: the contrary is seen, equally surely, or an effect of the document's size "
    "would "
    "have been seen and is not;\n"
    "- *not decided*: the runs are too few or too small to tell, and the text says what they would "
    "have shown;\n"
    "- *measured*: a number without a yes or no.\n";

/// A number that may be missing (null) or infinite (a word).
std::string number(const Json& value) {
  if (value.is_number()) return fmt::format("{:.4g}", value.get<double>());
  return value.is_string() ? value.get<std::string>() : "–";
}

std::string interval(const Json& from, const Json& to) {
  return from.is_null() || to.is_null() ? "–" : fmt::format("{} to {}", number(from), number(to));
}

std::string bytes(const Json& value) {
  return value.is_number() ? fmt::format("{:.0f} MiB", value.get<double>() / (1 << 20)) : "–";
}

/// " (1.02 x)": against the first arm, of which it says nothing.
std::string times(const Json& value, const Json& first) {
  if (!value.is_number() || !first.is_number() || first.get<double>() == 0) return "";
  return fmt::format(" ({:.3g} x)", value.get<double>() / first.get<double>());
}

std::string percent(const Json& value) {
  return value.is_number() ? fmt::format("{:.2g} %", 100 * value.get<double>()) : "–";
}

std::string summary(const Json& studies) {
  std::string out =
      "\n## All verdicts\n\n"
      "| claim | study | what was measured | value | 95 % interval | compared with | seeds | "
      "verdict |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const auto& study : studies) {
    for (const auto& verdict : study.at("verdicts")) {
      const std::string left = verdict.at("left");
      const bool seen = !left.empty();
      out += fmt::format("| {} | [{}](#{}) | {} | {} | {} | {} | {} | {} |\n",
                         verdict.at("claim").get<std::string>(),
                         study.at("study").get<std::string>(),
                         study.at("study").get<std::string>(),
                         markdown_cell(left),
                         seen ? number(verdict.at("measured")) : "–",
                         seen ? interval(verdict.at("lower"), verdict.at("upper")) : "–",
                         seen ? number(verdict.at("predicted")) : "–",
                         study.at("seeds").get<int>(),
                         verdict_words(verdict.at("outcome")));
    }
  }
  return out;
}

std::string verdicts_table(const Json& study) {
  if (study.at("verdicts").empty()) return "";
  std::string out =
      "\n| claim | the document says | verdict | what was measured |\n|---|---|---|---|\n";
  for (const auto& verdict : study.at("verdicts")) {
    out += fmt::format("| {} | {} ({}) | {} | {} |\n",
                       verdict.at("claim").get<std::string>(),
                       markdown_cell(verdict.at("statement")),
                       markdown_cell(verdict.at("source")),
                       verdict_words(verdict.at("outcome")),
                       markdown_cell(verdict.at("condition")));
  }
  return out;
}

std::string arms_table(const Json& study) {
  std::string out =
      "\n| arm | runs | diverged | parameters | memory of training | loss spikes | probing |\n"
      "|---|---|---|---|---|---|---|\n";
  const auto& control = study.at("arms").at(0);
  for (const auto& arm : study.at("arms")) {
    const auto against = [&](const char* quantity) {
      return &arm == &control ? ""
                              : times(arm.value(quantity, Json()), control.value(quantity, Json()));
    };
    out += fmt::format(
        "| {} | {} | {} | {}{} | {}{} | {} | {} |\n",
        markdown_cell(arm.at("arm")),
        arm.at("runs").get<int>(),
        arm.at("diverged").get<int>(),
        arm.contains("parameters") ? std::to_string(arm.at("parameters").get<std::int64_t>()) : "–",
        against("parameters"),
        bytes(arm.value("memory", Json())),
        against("memory"),
        number(arm.value("spikes", Json())),
        percent(arm.value("probing", Json())));
  }
  return out;
}

std::string comparisons_table(const Json& study) {
  if (study.at("comparisons").empty()) return "";
  std::string out = fmt::format(
      "\n| quantity | condition | arm | median | {} | difference | 95 % interval | pairs | p | "
      "would "
      "have found |\n|---|---|---|---|---|---|---|---|---|---|\n",
      markdown_cell(study.at("comparisons").at(0).at("control")));
  for (const auto& c : study.at("comparisons")) {
    out += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
                       c.at("metric").get<std::string>(),
                       markdown_cell(c.at("condition")),
                       markdown_cell(c.at("arm")),
                       number(c.at("median")),
                       number(c.at("control_median")),
                       number(c.at("difference")),
                       interval(c.at("lower"), c.at("upper")),
                       c.at("pairs").get<int>(),
                       number(c.at("p_holm")),
                       number(c.at("detectable")));
  }
  return out;
}

}  // namespace

std::string results_markdown(const std::string& results) {
  const auto json = Json::parse(results, nullptr, /*allow_exceptions=*/false);
  require(json.is_object() && json.contains("studies"), "these are no results of studies");
  try {
    const auto& studies = json.at("studies");
    std::string out = kHead + summary(studies);
    for (const auto& study : studies) {
      out += fmt::format("\n## {}\n\nOn {}, {} steps, {} seeds, {} of {} runs.\n\n    {}\n",
                         study.at("study").get<std::string>(),
                         study.at("data").get<std::string>(),
                         study.at("steps").get<std::string>(),
                         study.at("seeds").get<int>(),
                         study.at("ended").get<int>(),
                         study.at("runs").get<int>(),
                         study.at("command").get<std::string>());
      out += verdicts_table(study) + arms_table(study) + comparisons_table(study);
    }
    return out;
  } catch (const Json::exception& error) {
    throw Error(std::string("these are no results of studies: ") + error.what());
  }
}

}  // namespace kappascope::reports
