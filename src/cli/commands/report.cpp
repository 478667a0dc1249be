// SPDX-License-Identifier: Apache-2.0
#include "kappascope/reports/report.h"

#include <fmt/format.h>

#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/json_line.h"
#include "cli/say.h"
#include "core/atomic_file.h"
#include "kappascope/core/error.h"
#include "kappascope/store/run_reader.h"

namespace kappascope::cli {
namespace fs = std::filesystem;

int run_report(const Arguments& arguments) {
  std::vector<std::string> runs;
  std::string out, figures, format;
  Usage usage;
  usage.synopsis =
      "kappascope report RUN_OR_FOLDER... [--out FILE.html] [--figures DIR [--format svg|pdf|png]]";
  usage.text =
      "Writes one HTML page about one or several runs, all on one step axis; a folder stands for\n"
      "the runs in it (two levels deep). Runs that differ in their seed alone are one arm: its\n"
      "median, and a band from the lowest to the highest that they allow. The page works offline.\n"
      "--figures "
      "writes\n"
      "the same figures as files for a paper. Runs are only read, also while they are being\n"
      "written.\n\n"
      "example: kappascope report runs/none runs/pgb --out report.html";
  usage.options.add_options()("help,h", "show this text")(
      "run", po::value(&runs)->required(), "runs, or folders of runs")(
      "out",
      po::value(&out)->value_name("FILE"),
      "the page to write (default: report.html in the first run or folder)")(
      "figures", po::value(&figures)->value_name("DIR"), "also write one file per figure here")(
      "format",
      po::value(&format)->default_value("svg")->value_name("NAME"),
      "format of the figures: svg, pdf or png")(
      "json", po::bool_switch(), "print the names of the written files as JSON");
  add_force(usage);
  usage.positional = "run";
  usage.positional_count = -1;
  po::variables_map values;
  if (!parse(arguments, usage, values)) return 0;
  if (format != "svg" && format != "pdf" && format != "png") {
    throw UsageError("--format must be svg, pdf or png, got '" + format + "'");
  }
  if (values["format"].defaulted() == false && figures.empty())
    throw UsageError("--format needs --figures DIR");
  const std::vector<fs::path> paths(runs.begin(), runs.end());
  const fs::path page = out.empty() ? paths.front() / "report.html" : fs::path(out);
  // Looking for damage reads all rows, as the page does: both at once.
  auto damage =
      std::async(std::launch::async, [&paths] { return warn_of_damage(store::runs_at(paths)); });
  check_output(page, reports::kPageMark, values);
  nlohmann::json written = {{"report", page.string()}, {"figures", nlohmann::json::array()}};
  if (!figures.empty()) {
    const auto kind = format == "svg"   ? reports::FigureFormat::kSvg
                      : format == "pdf" ? reports::FigureFormat::kPdf
                                        : reports::FigureFormat::kPng;
    const bool force = values["force"].as<bool>();
    for (const auto& file : reports::write_figures(paths, figures, kind, force))
      written["figures"].push_back(file.string());
  }
  const std::string text = reports::html_report(paths);
  const bool damaged = damage.get();
  write_text_atomically(page, text);
  if (values["json"].as<bool>()) {
    print_json(written);
  } else {
    say("{}\n", page.string());
    for (const auto& file : written["figures"]) say("{}\n", file.get<std::string>());
  }
  return damaged ? 1 : 0;
}

}  // namespace kappascope::cli
