// SPDX-License-Identifier: Apache-2.0
#include "lab/study/definition.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <set>
#include <sstream>

#include "core/closest.h"
#include "core/printable.h"
#include "kappascope/core/error.h"
#include "kappascope/store/schema/series.h"
#include "lab/study/metrics.h"

namespace kappascope::study {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

IniSettings arm_settings(const std::string& text, const std::string& where) {
  IniSettings settings;
  for (const auto& word : split(text)) settings.push_back(parse_setting(word, where));
  return settings;
}

constexpr std::uint64_t kMostRuns = 20'000;

std::uint64_t whole_number(const std::string& text, const std::string& where) {
  std::uint64_t value = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) {
    throw UsageError(fmt::format(
        "{}: study.seeds is a whole number N for 1 to N, or a list as 1 2 7 or 4-6, got '{}'",
        where,
        text));
  }
  return value;
}

void add_seeds(std::uint64_t first,
               std::uint64_t last,
               const std::string& where,
               std::vector<std::uint64_t>& seeds) {
  if (last < first || last - first >= kMostRuns - seeds.size()) {
    throw UsageError(fmt::format(
        "{}: seeds {} to {} are none, or more than {} runs", where, first, last, kMostRuns));
  }
  for (auto i = last - first + 1; i > 0; --i) seeds.push_back(last - i + 1);
}

void require_known(const std::string& metric) {
  if (is_metric(metric)) return;
  const auto near = closest(metric, metric_names());
  throw UsageError(fmt::format("no run records the metric '{}'{}",
                               metric,
                               near.empty() ? "" : fmt::format(": did you mean '{}'?", near)));
}

}  // namespace

StudyDefinition read_definition(const std::filesystem::path& file) {
  const auto where = file.string();
  StudyDefinition definition;
  definition.name = file.stem().string();
  for (const auto& [name, value] : read_ini(file, "study")) {
    const auto rest = name.substr(name.find('.') + 1);
    if (name == "study.claims") {
      definition.claims = split(value);
    } else if (name == "study.metrics") {
      definition.metrics = split(value);
    } else if (name == "study.seeds") {
      definition.seeds = parse_seeds(value, where);
    } else if (name.starts_with("study.")) {
      throw UsageError(
          fmt::format("{}: [study] has no '{}'; it has claims, metrics and seeds", where, rest));
    } else if (name.starts_with("arms.")) {
      definition.arms.emplace_back(rest, arm_settings(value, where));
    } else if (name.starts_with("grid.")) {
      definition.grid.emplace_back(rest, split(value));
    } else if (name.starts_with("regime.")) {
      definition.regimes.emplace_back(rest, parse_regime(value, where));
    } else {
      definition.base.emplace_back(name, value);
    }
  }
  if (definition.metrics.empty()) definition.metrics = {store::id::kLossTest};
  try {
    validate(definition);
  } catch (const UsageError& error) {
    throw UsageError(where + ": " + error.what());
  }
  return definition;
}

void validate(const StudyDefinition& definition) {
  if (definition.arms.empty()) {
    throw UsageError(
        "a study has arms: list them under [arms] as LABEL = setting=value ..., the control first");
  }
  std::set<std::string> labels;
  for (const auto& [label, settings] : definition.arms) {
    if (!labels.insert(label).second)
      throw UsageError(fmt::format("two arms are labelled '{}'", label));
    if (label != printable(label)) {
      throw UsageError(
          fmt::format("the label of an arm has control characters: '{}'", printable(label)));
    }
  }
  for (const auto& [claim, regime] : definition.regimes) {
    if (std::ranges::find(definition.claims, claim) == definition.claims.end())
      throw UsageError(fmt::format("[regime] names {}, which study.claims does not", claim));
    if (!labels.contains(regime.arm))
      throw UsageError(fmt::format("[regime] {}: no arm is labelled '{}'", claim, regime.arm));
  }
  for (const auto& [setting, values] : definition.grid) {
    if (values.empty()) throw UsageError(fmt::format("[grid] {} has no values", setting));
    for (const auto& [label, settings] : definition.arms) {
      if (std::ranges::find(settings, setting, &IniSettings::value_type::first) != settings.end()) {
        throw UsageError(fmt::format(
            "the arm '{}' sets {}, which [grid] varies: its runs would be the same under "
            "every condition",
            label,
            setting));
      }
    }
  }
  if (definition.metrics.empty()) throw UsageError("a study compares at least one metric");
  for (const auto& metric : definition.metrics) require_known(metric);
  for (const auto& [claim, regime] : definition.regimes) require_known(regime.metric);
  if (definition.seeds.empty()) throw UsageError("a study has at least one seed");
  std::set<std::uint64_t> seeds;
  for (const auto seed : definition.seeds) {
    if (!seeds.insert(seed).second)
      throw UsageError(fmt::format("study.seeds names {} twice", seed));
  }
  auto runs = static_cast<double>(definition.arms.size() * definition.seeds.size());
  for (const auto& [setting, values] : definition.grid) runs *= static_cast<double>(values.size());
  if (runs > kMostRuns) {
    throw UsageError(fmt::format(
        "the study has {:.0f} runs (arms x values of the grid x study.seeds); {} are the most",
        runs,
        kMostRuns));
  }
}

std::vector<std::uint64_t> first_seeds(std::uint64_t count) {
  std::vector<std::uint64_t> seeds(count);
  std::iota(seeds.begin(), seeds.end(), 1);
  return seeds;
}

std::vector<std::uint64_t> parse_seeds(const std::string& text, const std::string& where) {
  const auto words = split(text);
  std::vector<std::uint64_t> seeds;
  if (words.size() == 1 && words[0].find('-') == std::string::npos) {
    const auto count = whole_number(words[0], where);
    if (count > 0) add_seeds(1, count, where, seeds);
    return seeds;
  }
  for (const auto& word : words) {
    const auto dash = word.find('-');
    const auto first = whole_number(word.substr(0, dash), where);
    add_seeds(first,
              dash == std::string::npos ? first : whole_number(word.substr(dash + 1), where),
              where,
              seeds);
  }
  return seeds;
}

std::vector<Regime> regimes_of(const StudyDefinition& definition, const std::string& claim) {
  std::vector<Regime> found;
  for (const auto& [id, regime] : definition.regimes) {
    if (id == claim) found.push_back(regime);
  }
  return found;
}

std::string fingerprint(const StudyDefinition& definition) {
  std::string text;
  const auto add = [&](const IniSettings& settings) {
    for (const auto& [name, value] : settings) text += fmt::format("{}={}\n", name, value);
    text += '\n';
  };
  for (const auto& [label, settings] : definition.arms) {
    text += label + '\n';
    add(settings);
  }
  for (const auto& [setting, values] : definition.grid)
    text += fmt::format("{}: {}\n", setting, fmt::join(values, " "));
  add(definition.base);
  text += fmt::format(
      "{}\n{}\n", fmt::join(definition.metrics, " "), fmt::join(definition.claims, " "));
  for (const auto& [claim, regime] : definition.regimes)
    text += fmt::format("{}: {}\n", claim, to_string(regime));
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a (Fowler, Noll and Vo)
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

}  // namespace kappascope::study
