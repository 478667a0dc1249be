// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/json_line.h"
#include "cli/progress.h"
#include "cli/say.h"
#include "core/notice.h"
#include "core/printable.h"
#include "core/require.h"
#include "core/table.h"
#include "core/time.h"
#include "kappascope/store/run.h"
#include "reports/runs/listing.h"

namespace kappascope::cli {
namespace {

using Json = nlohmann::json;
using Row = reports::RunSummary;

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

std::string cell(double value) {
  return std::isnan(value) ? "-" : fmt::format("{:.4g}", value);
}

/// The least that the steps can be where they are not resolved.
std::string steps_cell(const reports::RunSummary::Worst& slowest) {
  const auto& steps = slowest.scalar;
  if (slowest.layer.empty()) return "-";
  return is_resolved(steps) ? cell(steps.value) : ">= " + cell(steps.lower.value_or(1));
}

/// In brackets where it is not resolved, as in the report's tables.
std::string kappa_cell(const reports::RunSummary::Worst& worst) {
  if (worst.layer.empty()) return "-";
  const auto text = cell(worst.scalar.value);
  return is_resolved(worst.scalar) ? text : "(" + text + ")";
}

std::string layer_of(const Row& row) {
  return row.worst_layer.evidence.empty() ? "" : row.worst_layer.evidence.front().layer;
}

/// "2026-01-31 12:00" of an ISO 8601 time.
std::string date(std::string created) {
  if (created.size() < 16) return "-";
  created.resize(16);
  created[10] = ' ';
  return created;
}

std::vector<std::string> cells_of(const std::string& run, const Row& row) {
  return {run,
          row.state,
          date(row.created),
          std::isnan(row.seconds) ? "-" : format_seconds(row.seconds),
          std::to_string(row.steps),
          cell(row.loss),
          cell(row.test_loss),
          steps_cell(row.slowest),
          kappa_cell(row.worst_kappa),
          row.label + (layer_of(row).empty() ? "" : "; " + layer_of(row))};
}

Json status(const reports::RunSummary::Worst& worst) {
  return worst.layer.empty() ? Json() : Json(std::string(worst.scalar.status.text()));
}

Json json_row(const std::string& run, const Row& row) {
  const auto& steps = row.slowest.scalar;
  const double none = std::numeric_limits<double>::quiet_NaN();
  const auto bound = [&](const std::optional<double>& end) { return number(end.value_or(none)); };
  return {{"run", run},
          {"label", row.label},
          {"state", row.state},
          {"created", row.created},
          {"seconds", number(row.seconds)},
          {"steps", row.steps},
          {"loss", number(row.loss)},
          {"test_loss", number(row.test_loss)},
          {"slowest_layer", row.slowest.layer},
          {"steps_to_learn",
           {{"value", row.slowest.layer.empty() ? Json() : number(steps.value)},
            {"lower", bound(steps.lower)},
            {"upper", bound(steps.upper)},
            {"status", status(row.slowest)}}},
          {"worst_kappa",
           row.worst_kappa.layer.empty() ? Json() : number(row.worst_kappa.scalar.value)},
          {"worst_kappa_status", status(row.worst_kappa)},
          {"worst_layer", row.worst_kappa.layer},
          {"layer", layer_of(row)},
          {"verdict", to_string(row.worst_layer.verdict)},
          {"grade", to_string(row.worst_layer.grade)},
          {"damaged", row.damaged}};
}

}  // namespace

int run_runs(const Arguments& arguments) {
  std::string dir;
  Usage usage;
  usage.synopsis = "kappascope runs [DIR] [--json] [--archived]";
  usage.text =
      "Lists the runs in a folder: state (running, finished, interrupted, failed, or dead where "
      "the\n"
      "process has ended without saying so), start (UTC), duration of the training, steps, last\n"
      "training and test loss, and of the W_d blocks at the last measurement: the steps of "
      "gradient\n"
      "descent to learn 90 % in the slowest layer (>=: at least), and the largest kappa, in "
      "brackets\n"
      "where its rows do not resolve it. The results of studies are no runs.\n\n"
      "example: kappascope runs runs --json";
  usage.options.add_options()("help,h", "show this text")(
      "dir", po::value(&dir)->default_value("runs"), "folder to search, two levels deep")(
      "json", po::bool_switch(), "print one JSON object per run and line")(
      "archived", po::bool_switch(), "also those that `kappascope annotate --archive` put away");
  usage.positional = "dir";
  usage.positional_count = 1;
  po::variables_map values;
  if (!parse(arguments, usage, values)) return 0;
  require(std::filesystem::is_directory(dir), "there is no folder {}", dir);
  const bool json = values["json"].as<bool>();
  auto found = store::find_runs(dir);
  if (!values["archived"].as<bool>()) std::erase_if(found, store::is_archived);
  Rows rows = {{"run",
                "state",
                "start (UTC)",
                "duration",
                "steps",
                "loss",
                "test loss",
                "steps to 90 %",
                "kappa",
                "label; slowest layer"}};
  int broken = 0;  // or damaged
  for (const auto& path : found) {
    try {
      const auto row = reports::summary_of(path);
      if (json) {
        print_json(json_row(path.string(), row));
      } else {
        rows.push_back(cells_of(path.string(), row));
      }
      if (row.damaged > 0) {
        ++broken;
        notice(
            "kappascope: warning: {} is damaged and read without what is; see "
            "`kappascope check {}`\n",
            path.string(),
            path.string());
      }
    } catch (const std::exception& error) {
      if (json) print_json(Json{{"run", path.string()}, {"error", error.what()}});
      notice("kappascope: error: {}\n", error.what());
      ++broken;
    }
  }
  if (rows.size() > 1) say("{}", Lines{table_text(std::move(rows), terminal_width())});
  if (found.empty()) notice("no runs in {}\n", dir);
  return broken > 0 ? 1 : 0;
}

}  // namespace kappascope::cli
