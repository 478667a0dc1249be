// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "kappascope/core/error.h"
#include "kappascope/store/run.h"

namespace kappascope::cli {
namespace {

struct Row {
  std::string run, label, state;
  int64_t steps = 0;
  double loss = std::numeric_limits<double>::quiet_NaN(),
         kappa = std::numeric_limits<double>::quiet_NaN();
  std::string layer;
};

Row summarize(const std::filesystem::path& path) {
  const store::RunReader run(path);
  Row row;
  row.run = path.string();
  row.label = run.fact("label");
  row.state = run.state();
  row.steps = run.last_step() + 1;
  if (const auto losses = run.scalars({"loss/train", ""}); !losses.empty())
    row.loss = losses.back().scalar.value;
  for (const auto& key : run.series()) {
    if (key.name != "kappa/second_moment") continue;
    const double last = run.scalars(key).back().scalar.value;
    if (std::isnan(row.kappa) || last > row.kappa) {
      row.kappa = last;
      row.layer = key.layer;
    }
  }
  return row;
}

nlohmann::json number(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
}

}  // namespace

int run_runs(const Arguments& arguments) {
  std::string dir;
  Usage usage;
  usage.synopsis = "kappascope runs [DIR]";
  usage.text =
      "Lists the runs in DIR: state (running, finished, interrupted, failed, or dead when its "
      "process is\n"
      "gone), steps, last loss, and the worst kappa of the W_d block at the latest measurement.";
  usage.options.add_options()("help,h", "this text")(
      "dir", po::value(&dir)->default_value("runs"), "where to look")(
      "json", po::bool_switch(), "print JSON lines");
  usage.positional = "dir";
  usage.positional_count = 1;
  po::variables_map values;
  if (!parse(arguments, usage, values)) return 0;
  require(std::filesystem::is_directory(dir), "there is no folder ", dir);
  const bool json = values["json"].as<bool>();
  const auto found = store::find_runs(dir);
  if (!json && !found.empty()) {
    fmt::print("{:<32} {:<12} {:>8} {:>10} {:>10}  {}\n",
               "run",
               "state",
               "steps",
               "loss",
               "kappa",
               "label; worst layer");
  }
  int broken = 0;
  for (const auto& path : found) {
    try {
      const auto row = summarize(path);
      if (json) {
        fmt::print("{}\n",
                   nlohmann::json{{"run", row.run},
                                  {"label", row.label},
                                  {"state", row.state},
                                  {"steps", row.steps},
                                  {"loss", number(row.loss)},
                                  {"worst_kappa", number(row.kappa)},
                                  {"worst_layer", row.layer}}
                       .dump());
      } else {
        fmt::print("{:<32} {:<12} {:>8} {:>10.4g} {:>10.3g}  {}{}\n",
                   row.run,
                   row.state,
                   row.steps,
                   row.loss,
                   row.kappa,
                   row.label,
                   row.layer.empty() ? "" : "; " + row.layer);
      }
    } catch (const Error& error) {
      fmt::print(stderr, "kappascope: error: {}\n", error.what());
      ++broken;
    }
  }
  if (found.empty()) fmt::print(stderr, "no runs in {}\n", dir);
  return broken > 0 ? 1 : 0;
}

}  // namespace kappascope::cli
