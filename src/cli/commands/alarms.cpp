// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/alarms/names.h"
#include "cli/alarms/replay.h"
#include "cli/command.h"
#include "cli/json_line.h"
#include "cli/say.h"
#include "kappascope/core/atomic_file.h"
#include "kappascope/core/error.h"
#include "kappascope/core/require.h"
#include "kappascope/reports/study/warnings.h"
#include "kappascope/store/run.h"

namespace kappascope::cli {
namespace {

namespace fs = std::filesystem;

/// The trainings of each folder; sets `damaged` where one of them is.
std::vector<std::pair<std::string, std::vector<study::WatchedTraining>>> read_trainings(
    const std::vector<std::string>& folders, bool& damaged) {
  std::vector<std::pair<std::string, std::vector<study::WatchedTraining>>> out;
  for (const auto& folder : folders) {
    std::vector<study::WatchedTraining> trainings;
    const auto runs = store::find_runs(folder);
    damaged = warn_of_damage(runs) || damaged;
    trainings.reserve(runs.size());
    for (const auto& dir : runs) trainings.push_back(replayed(store::RunReader(dir)));
    require(!trainings.empty(), "{} holds no runs", folder);
    const auto path = fs::absolute(folder).lexically_normal();
    out.emplace_back(
        path.has_filename() ? path.filename().string() : path.parent_path().filename().string(),
        std::move(trainings));
  }
  return out;
}

reports::WarningGroup judged(const std::string& name,
                             const std::vector<study::WatchedTraining>& trainings,
                             const study::WarningOptions& options) {
  reports::WarningGroup group{.name = name};
  for (const auto& training : trainings) {
    ++group.trainings;
    group.with_spikes += training.spikes.empty() ? 0 : 1;
    group.spikes += static_cast<std::int64_t>(training.spikes.size());
    group.steps += training.steps;
  }
  group.records = study::judge_warnings(trainings, options);
  return group;
}

nlohmann::json json_of(const study::WarningNumber& number) {
  const auto or_null = [](double v) {
    return v - v == 0 ? nlohmann::json(v) : nlohmann::json(nullptr);
  };
  return {{"value", or_null(number.value)},
          {"lower", or_null(number.lower)},
          {"upper", or_null(number.upper)}};
}

nlohmann::json json_of(const reports::WarningStudy& study) {
  auto groups = nlohmann::json::array();
  for (const auto& group : study.groups) {
    auto rules = nlohmann::json::array();
    for (const auto& record : group.records) {
      rules.push_back(
          {{"rule", record.rule},
           {"alarms", record.alarms},
           {"false", json_of(record.false_share)},
           {"warned", json_of(record.warned)},
           {"lead",
            record.lead - record.lead == 0 ? nlohmann::json(record.lead) : nlohmann::json(nullptr)},
           {"before", json_of(record.before)},
           {"after", json_of(record.after)},
           {"ahead", json_of(record.ahead)},
           {"ahead_of_chance", json_of(record.ahead_of_chance)},
           {"leads",
            std::isnan(record.ahead_at_least)
                ? nlohmann::json(nullptr)
                : nlohmann::json(study::leads(record, group.records, study.plain))}});
    }
    groups.push_back({{"group", group.name},
                      {"trainings", group.trainings},
                      {"with_spikes", group.with_spikes},
                      {"spikes", group.spikes},
                      {"rules", rules}});
  }
  return {{"horizon", study.horizon}, {"groups", groups}};
}

}  // namespace

int run_alarms(const Arguments& arguments) {
  std::vector<std::string> folders;
  std::string out;
  study::WarningOptions options;
  options.plain = {kLossRule, kNormRule};
  Usage usage;
  usage.synopsis = "kappascope alarms FOLDER... [--horizon STEPS] [--out FILE.md] [--json]";
  usage.text =
      "Judge the alarms on stored trainings: how many steps before a spike of the loss each came, "
      "how\n"
      "often for nothing, and whether it came before the plain rules on loss and gradient norm. "
      "The\n"
      "rules run over what the runs stored, so today's rules can be judged on old runs. FOLDER "
      "holds\n"
      "runs of one problem; several folders are judged each and together. The alarms are:\n" +
      alarms_in_words() + "\nexample: kappascope alarms runs/alarms-mlp runs/alarms-language";
  usage.options.add_options()("help,h", "show this text")(
      "folder", po::value(&folders)->required(), "folders of runs")(
      "horizon",
      po::value(&options.horizon)->default_value(options.horizon)->value_name("STEPS"),
      "steps before a spike in which an alarm is a warning of it")(
      "out", po::value(&out)->value_name("FILE"), "write the page to this file")(
      "json", po::bool_switch(), "print the numbers as JSON");
  add_force(usage);
  usage.positional = "folder";
  usage.positional_count = -1;
  po::variables_map values;
  if (!parse(arguments, usage, values)) return 0;
  if (options.horizon < 1) throw UsageError("--horizon must be at least 1");
  if (!out.empty()) check_output(out, reports::kWarningsMark, values);
  std::vector<std::string> names;
  std::vector<study::WatchedTraining> all;
  reports::WarningStudy study{
      .plain = options.plain, .horizon = options.horizon, .first_step = kFirstTold};
  bool damaged = false;
  for (auto& [name, trainings] : read_trainings(folders, damaged)) {
    study.groups.push_back(judged(name, trainings, options));
    names.push_back(name);
    std::move(trainings.begin(), trainings.end(), std::back_inserter(all));
  }
  study.groups.push_back(judged("all trainings", all, options));
  study.command = fmt::format("kappascope alarms {} --horizon {} --out {}",
                              fmt::join(names, " "),
                              options.horizon,
                              out.empty() ? "ALARMS.md" : fs::path(out).filename().string());
  const auto page = reports::warnings_markdown(study);
  if (!out.empty()) write_text_atomically(out, page);
  if (values["json"].as<bool>()) {
    print_json(json_of(study));
  } else if (out.empty()) {
    say("{}", page);
  } else {
    say("{}\n", out);
  }
  return damaged ? 1 : 0;
}

}  // namespace kappascope::cli
