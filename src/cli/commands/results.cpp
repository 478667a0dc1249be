// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>

#include "cli/command.h"
#include "kappascope/core/atomic_file.h"
#include "kappascope/reports/study/markdown.h"
#include "kappascope/study/result.h"

namespace kappascope::cli {
namespace fs = std::filesystem;

int run_results(const Arguments& arguments) {
  std::vector<std::string> folders;
  std::string out;
  Usage usage;
  usage.synopsis = "kappascope results FOLDER... [--out FOLDER] [--json]";
  usage.text =
      "Summarise completed studies as one Markdown page: every claim with its verdict and\n"
      "interval, every arm with its size and cost, every comparison. FOLDER is where `sweep`\n"
      "stored the runs. With --out the page is written to RESULTS.md, and the same results for\n"
      "programs to results.json.\n\n"
      "example: kappascope results runs/pgb-mlp-mnist runs/pgb-controlled --out experiments";
  usage.options.add_options()("help,h", "print this help")(
      "folder", po::value(&folders)->required(), "folders of completed sweeps")(
      "out",
      po::value(&out)->value_name("FOLDER"),
      "write RESULTS.md and results.json to this folder")(
      "json", po::bool_switch(), "print the results as JSON");
  add_force(usage);
  usage.positional = "folder";
  usage.positional_count = -1;
  po::variables_map values;
  if (!parse(arguments, usage, values)) return 0;
  const fs::path page_file = fs::path(out) / "RESULTS.md",
                 json_file = fs::path(out) / "results.json";
  if (!out.empty()) {
    check_output(page_file, reports::kMarkdownMark, values);
    check_output(json_file, study::kResultsMark, values);
  }
  std::vector<study::StudyResult> results;
  results.reserve(folders.size());
  for (const auto& folder : folders) results.push_back(study::read_result(folder));
  const auto page = reports::study_markdown(results);
  if (!out.empty()) {
    write_text_atomically(page_file, page);
    write_text_atomically(json_file, study::results_json(results, 1) + "\n");
  }
  if (values["json"].as<bool>()) {
    fmt::print("{}\n", study::results_json(results));
  } else if (out.empty()) {
    fmt::print("{}", page);
  } else {
    fmt::print("{}\n", (fs::path(out) / "RESULTS.md").string());
  }
  return 0;
}

}  // namespace kappascope::cli
