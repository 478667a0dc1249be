// SPDX-License-Identifier: Apache-2.0
#include "lab/cli/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/closest.h"
#include "core/ini.h"
#include "kappascope/core/error.h"
#include "lab/cli/settings_options.h"

namespace kappascope::cli {
namespace {

// Shortest text that reads back to the same number.
std::string text_of(const boost::any& value) {
  if (const auto* s = boost::any_cast<std::string>(&value)) return *s;
  if (const auto* b = boost::any_cast<bool>(&value)) return *b ? "true" : "false";
  if (const auto* d = boost::any_cast<double>(&value)) return fmt::format("{}", *d);
  if (const auto* i = boost::any_cast<int>(&value)) return std::to_string(*i);
  if (const auto* l = boost::any_cast<int64_t>(&value)) return std::to_string(*l);
  if (const auto* u = boost::any_cast<std::uint64_t>(&value)) return std::to_string(*u);
  throw Error("a setting has a type that cannot be written");
}

/// In runs of version 0.2: spectra have half of probes.budget.
constexpr const char* kRetired = "probes.hessian-budget";

}  // namespace

int64_t curvature_rows_of(const Settings& settings) {
  constexpr int64_t kPredictions = 1024;
  if (settings.curvature_rows != 0) return settings.curvature_rows;
  if (settings.train.kind != "language") return kPredictions;
  return std::max<int64_t>(1, kPredictions / settings.train.context);
}

po::options_description settings_options(Settings& settings) {
  po::options_description options;
  for (const auto& group : settings_groups(settings)) options.add(group.options);
  return options;
}

std::string to_ini(Settings settings) {
  // Options bound to these settings have them as their defaults.
  const auto options = settings_options(settings);
  po::variables_map values;
  po::store(po::command_line_parser(std::vector<std::string>()).options(options).run(), values);
  IniSettings all;
  for (const auto& option : options.options())
    all.emplace_back(option->long_name(), text_of(values[option->long_name()].value()));
  return kappascope::to_ini(all);
}

Settings from_ini(const std::string& text) {
  const std::string where = "the stored configuration cannot be read";
  try {
    auto stored = kappascope::parse_ini(text, where);
    std::erase_if(stored, [](const auto& setting) { return setting.first == kRetired; });
    return settings_with(stored, where);
  } catch (const UsageError& error) {
    throw Error(error.what());
  }
}

Settings settings_with(const std::vector<std::pair<std::string, std::string>>& changes,
                       const std::string& where) {
  Settings settings;
  const auto options = settings_options(settings);
  std::vector<std::string> names;
  for (const auto& option : options.options()) names.push_back(option->long_name());
  // Of several values of one setting, program_options counts the first.
  std::map<std::string, std::string> last;
  for (const auto& [name, value] : changes) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      const auto near = closest(name, names);
      throw UsageError(fmt::format("{}: unknown setting '{}'{}",
                                   where,
                                   name,
                                   near.empty() ? "" : fmt::format(": did you mean '{}'?", near)));
    }
    last[name] = value;
  }
  po::variables_map values;
  try {
    po::store(as_parsed({last.begin(), last.end()}, options), values);
    po::notify(values);
  } catch (po::error& error) {
    throw UsageError(where + ": " + message_of(error));
  }
  return settings;
}

std::string label_of(const train::TrainConfig& config) {
  if (!config.label.empty()) return config.label;
  if (config.bias == "none") return "no bias";
  if (config.bias == "both") return "both biases";
  if (config.bias == "centred") return "centred features";
  if (config.bias == "centred-output") return "centred features, output bias";
  return config.bias + " bias" + (config.bias_start == "mean" ? " from -μ" : "");
}

}  // namespace kappascope::cli
