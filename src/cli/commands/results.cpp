// SPDX-License-Identifier: Apache-2.0
#include "kappascope/reports/results.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/study/result.h"
#include "kappascope/core/error.h"
#include "kappascope/store/atomic_file.h"

namespace kappascope::cli {
namespace fs = std::filesystem;

int run_results(const Arguments& arguments) {
  std::vector<std::string> folders;
  std::string out;
  Usage usage;
  usage.synopsis = "kappascope results FOLDER... [--out FOLDER] [--json]";
  usage.text =
      "What studies found, from the folders in which `sweep` left their runs: every claim with "
      "its\n"
      "verdict, interval and seeds, every arm with its size and cost, every comparison, as a\n"
      "Markdown page. With --out it goes into RESULTS.md, and the same for programs into\n"
      "results.json.\n\n"
      "example: kappascope results runs/pgb-mlp-mnist runs/pgb-controlled --out experiments";
  usage.options.add_options()("help,h", "this text")(
      "folder", po::value(&folders)->required(), "folders of sweeps that have ended")(
      "out", po::value(&out)->value_name("FOLDER"), "write RESULTS.md and results.json there")(
      "json", po::bool_switch(), "print JSON");
  usage.positional = "folder";
  usage.positional_count = -1;
  po::variables_map values;
  if (!parse(arguments, usage, values)) return 0;
  nlohmann::ordered_json results = {{"studies", nlohmann::ordered_json::array()}};
  for (const auto& folder : folders) results["studies"].push_back(read_result(folder));
  const auto page = reports::results_markdown(results.dump());
  if (!out.empty()) {
    store::write_text_atomically(fs::path(out) / "RESULTS.md", page);
    store::write_text_atomically(fs::path(out) / "results.json", results.dump(1) + "\n");
  }
  if (values["json"].as<bool>()) {
    fmt::print("{}\n", results.dump());
  } else if (out.empty()) {
    fmt::print("{}", page);
  } else {
    fmt::print("{}\n", (fs::path(out) / "RESULTS.md").string());
  }
  return 0;
}

}  // namespace kappascope::cli
