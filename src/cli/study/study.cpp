// SPDX-License-Identifier: Apache-2.0
#include "cli/study/study.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <set>
#include <sstream>

#include "kappascope/core/error.h"

namespace kappascope::cli {
namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

/// "a.b=1 c.d=x" as changes.
Changes changes_of(const std::string& text, const std::string& where) {
  Changes changes;
  for (const auto& word : words_of(text)) {
    const auto equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw UsageError(fmt::format("{}: an arm is a list of setting=value, got '{}'", where, word));
    }
    changes.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  return changes;
}

std::string without_section(const std::string& setting) {
  return setting.substr(setting.rfind('.') + 1);
}

std::string folder_part(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 128 && std::isalnum(byte) == 0 && c != '.' && c != '_' && c != '+') c = '-';
  }
  return text;
}

/// Every choice of one value a setting, the last setting changing fastest.
std::vector<Changes> conditions_of(const Study& study) {
  std::vector<Changes> all = {{}};
  for (const auto& [setting, values] : study.grid) {
    std::vector<Changes> longer;
    for (const auto& condition : all) {
      for (const auto& value : values) {
        longer.push_back(condition);
        longer.back().emplace_back(setting, value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

std::string words_for(const Changes& condition) {
  std::vector<std::string> parts;
  for (const auto& [setting, value] : condition) {
    parts.push_back(fmt::format("{} {}", without_section(setting), value));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Refuses what would be overwritten in silence: the three settings that the study itself makes,
/// and a change of all runs that an arm or condition takes back.
void refuse_overwritten(const Study& study, const Changes& more) {
  std::vector<std::string> by_arms;
  for (const auto& [setting, values] : study.grid) by_arms.push_back(setting);
  for (const auto& [arm, changes] : study.arms) {
    for (const auto& [setting, value] : changes) by_arms.push_back(setting);
  }
  auto named = by_arms;
  for (const auto* part : {&study.base, &more}) {
    for (const auto& [setting, value] : *part) named.push_back(setting);
  }
  for (const auto* own : {"train.seed", "label", "condition"}) {
    if (std::find(named.begin(), named.end(), own) != named.end()) {
      throw UsageError(
          fmt::format("{}: {} is the study's own (study.seeds, the names of [arms], "
                      "[grid]) and cannot be set",
                      study.name,
                      own));
    }
  }
  for (const auto& [setting, value] : more) {
    if (std::find(by_arms.begin(), by_arms.end(), setting) != by_arms.end()) {
      throw UsageError(
          fmt::format("{} is what the arms or conditions of {} differ by; edit the study",
                      setting,
                      study.name));
    }
  }
}

}  // namespace

Study read_study(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in || std::filesystem::is_directory(file)) {
    throw UsageError("cannot read the study " + file.string());
  }
  Settings defaults;
  const auto known = settings_options(defaults);
  Study study;
  study.name = file.stem().string();
  const auto fail = [&](const std::string& what) { throw UsageError(file.string() + ": " + what); };
  try {
    for (const auto& option :
         po::parse_config_file(in, known, /*allow_unregistered=*/true).options) {
      const auto& key = option.string_key;
      const auto value = option.value.empty() ? std::string() : option.value.front();
      const auto rest = key.substr(key.find('.') + 1);
      if (key == "study.claims") {
        study.claims = words_of(value);
      } else if (key == "study.metrics") {
        study.metrics = words_of(value);
      } else if (key == "study.seeds") {
        std::size_t read = 0;
        study.seeds = std::stoll(value, &read);
        if (read != value.size()) fail("study.seeds must be a whole number, got '" + value + "'");
      } else if (key.rfind("arms.", 0) == 0) {
        study.arms.emplace_back(rest, changes_of(value, file.string()));
      } else if (key.rfind("grid.", 0) == 0) {
        study.grid.emplace_back(rest, words_of(value));
        if (study.grid.back().second.empty()) fail("[grid] " + rest + " has no values");
      } else {
        study.base.emplace_back(key, value);
      }
    }
  } catch (const po::error& error) {
    fail(error.what());
  } catch (const std::logic_error&) {
    fail("study.seeds must be a whole number");
  }
  if (study.arms.empty()) {
    fail("a study has arms: [arms] with NAME = setting=value ..., the first the control");
  }
  if (study.seeds < 1) fail(fmt::format("study.seeds must be at least 1, got {}", study.seeds));
  if (study.metrics.empty()) study.metrics = {"loss/test"};
  return study;
}

std::vector<StudyRun> runs_of(const Study& study, const Changes& more) {
  refuse_overwritten(study, more);
  std::vector<StudyRun> runs;
  std::set<std::string> names;
  for (const auto& condition : conditions_of(study)) {
    for (std::int64_t seed = 1; seed <= study.seeds; ++seed) {
      for (const auto& [arm, changes] : study.arms) {
        StudyRun run;
        run.arm = arm;
        run.condition = words_for(condition);
        run.seed = static_cast<std::uint64_t>(seed);
        run.name = arm;
        for (const auto& [setting, value] : condition) {
          run.name += fmt::format("_{}-{}", without_section(setting), value);
        }
        run.name = folder_part(fmt::format("{}_seed-{}", run.name, seed));
        auto all = study.base;
        for (const auto* part : {&more, &condition, &changes}) {
          all.insert(all.end(), part->begin(), part->end());
        }
        run.settings = settings_with(all, fmt::format("{}, arm {}", study.name, arm));
        run.settings.train.label = arm;
        run.settings.condition = run.condition;
        run.settings.train.seed = run.seed;
        try {
          run.settings.train.validate();
        } catch (const UsageError& error) {
          throw UsageError(fmt::format("{}, arm {}: {}", study.name, arm, error.what()));
        }
        if (!names.insert(run.name).second) {
          throw UsageError("two runs of the study would be called " + run.name +
                           ": give the arms names that differ in letters or digits");
        }
        runs.push_back(std::move(run));
      }
    }
  }
  return runs;
}

}  // namespace kappascope::cli
