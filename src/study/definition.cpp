// SPDX-License-Identifier: Apache-2.0
#include "kappascope/study/definition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "kappascope/core/error.h"
#include "kappascope/store/schema/series.h"

namespace kappascope::study {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

Settings arm_settings(const std::string& text, const std::string& where) {
  Settings settings;
  for (const auto& word : split(text)) settings.push_back(parse_setting(word, where));
  return settings;
}

std::int64_t whole_number(const std::string& text, const std::string& where) {
  std::int64_t value = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) {
    throw UsageError(fmt::format("{}: study.seeds must be a whole number, got '{}'", where, text));
  }
  return value;
}

std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in || std::filesystem::is_directory(file))
    throw UsageError("cannot read the study " + file.string());
  try {
    return {std::istreambuf_iterator<char>(in), {}};
  } catch (const std::ios_base::failure&) {
    throw Error("cannot read the study " + file.string() + ": " + std::strerror(errno));
  }
}

}  // namespace

StudyDefinition read_definition(const std::filesystem::path& file) {
  const auto where = file.string();
  StudyDefinition definition;
  definition.name = file.stem().string();
  for (const auto& [name, value] : parse_ini(read_text(file), where)) {
    const auto rest = name.substr(name.find('.') + 1);
    if (name == "study.claims") {
      definition.claims = split(value);
    } else if (name == "study.metrics") {
      definition.metrics = split(value);
    } else if (name == "study.seeds") {
      definition.seeds = whole_number(value, where);
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
  }
  for (const auto& [claim, regime] : definition.regimes) {
    if (std::ranges::find(definition.claims, claim) == definition.claims.end())
      throw UsageError(fmt::format("[regime] names {}, which study.claims does not", claim));
    if (!labels.contains(regime.arm))
      throw UsageError(fmt::format("[regime] {}: no arm is labelled '{}'", claim, regime.arm));
  }
  for (const auto& [setting, values] : definition.grid) {
    if (values.empty()) throw UsageError(fmt::format("[grid] {} has no values", setting));
  }
  if (definition.metrics.empty()) throw UsageError("a study compares at least one metric");
  if (definition.seeds < 1) {
    throw UsageError(fmt::format("study.seeds must be at least 1, got {}", definition.seeds));
  }
  constexpr double kMostRuns = 100'000;
  double runs = static_cast<double>(definition.arms.size()) * static_cast<double>(definition.seeds);
  for (const auto& [setting, values] : definition.grid) runs *= static_cast<double>(values.size());
  if (runs > kMostRuns) {
    throw UsageError(fmt::format(
        "the study has {:.0f} runs (arms x values of the grid x study.seeds); {:.0f} are the most",
        runs,
        kMostRuns));
  }
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
  const auto add = [&](const Settings& settings) {
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
