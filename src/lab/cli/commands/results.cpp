// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/json_line.h"
#include "cli/say.h"
#include "core/atomic_file.h"
#include "core/printable.h"
#include "kappascope/core/error.h"
#include "lab/cli/commands/commands.h"
#include "lab/report/markdown.h"
#include "lab/study/definition.h"
#include "lab/study/result.h"

namespace kappascope::cli {
namespace fs = std::filesystem;

namespace {

/// In the order of the file, new studies after it.
std::vector<study::StudyResult> merged(std::vector<study::StudyResult> results,
                                       const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  auto all = study::parse_results(text.str());
  for (auto& result : results) {
    const auto old = std::ranges::find(all, result.name, &study::StudyResult::name);
    if (old == all.end()) {
      all.push_back(std::move(result));
    } else {
      *old = std::move(result);
    }
  }
  return all;
}

}  // namespace

int run_results(const Arguments& arguments) {
  std::vector<std::string> folders;
  std::string out, definitions;
  Usage usage;
  usage.synopsis = "kappascope results FOLDER... [--out FOLDER] [--json]";
  usage.text =
      "Summarise completed studies as one Markdown page: every claim with its verdict and\n"
      "interval, every arm with its size and cost, every comparison. FOLDER is where `sweep`\n"
      "stored the runs. With --out the page is written to RESULTS.md, and the same results for\n"
      "programs to results.json; with --merge the studies that results.json has already and no\n"
      "FOLDER has stay. The false discovery rate is controlled (5 %) over the verdicts on\n"
      "claims of the documents, and over those on claims of ours.\n\n"
      "example: kappascope results runs/pgb-mlp-mnist runs/pgb-controlled --out experiments";
  usage.options.add_options()("help,h", "print this help")(
      "folder", po::value(&folders)->required(), "folders of completed sweeps")(
      "out",
      po::value(&out)->value_name("FOLDER"),
      "write RESULTS.md and results.json to this folder")(
      "merge",
      po::bool_switch(),
      "keep the studies in --out's results.json that are not among the folders")(
      "definitions",
      po::value(&definitions)->value_name("FOLDER"),
      "study files: a result of an earlier definition of its study is marked so, and decides "
      "nothing")("json", po::bool_switch(), "print the results as JSON");
  add_force(usage);
  usage.positional = "folder";
  usage.positional_count = -1;
  po::variables_map values;
  if (!parse(arguments, usage, values)) return 0;
  const fs::path page_file = fs::path(out) / "RESULTS.md",
                 json_file = fs::path(out) / "results.json";
  const bool merge = values["merge"].as<bool>();
  if (merge && out.empty()) throw UsageError("--merge needs the folder of results.json: --out");
  if (!out.empty()) {
    check_output(page_file, reports::kMarkdownMark, values);
    check_output(json_file, study::kResultsMark, values);
  }
  std::vector<study::StudyResult> results;
  results.reserve(folders.size());
  std::vector<fs::path> stored;
  for (const auto& folder : folders) {
    results.push_back(study::read_result(folder));
    stored.push_back(fs::path(folder) / "study");
  }
  const bool damaged = warn_of_damage(stored);
  if (merge && fs::exists(json_file)) results = merged(std::move(results), json_file);
  if (!definitions.empty()) {
    for (auto& result : results) {
      const auto file =
          fs::path(definitions) / (fs::path(result.name).filename().string() + ".ini");
      if (fs::is_regular_file(file) &&
          study::fingerprint(study::read_definition(file)) != result.definition)
        study::mark_outdated(result);
    }
  }
  study::control_false_discovery(results);
  const auto page = reports::study_markdown(results);
  if (!out.empty()) {
    make_directories(out);
    write_text_atomically(page_file, page);
    write_text_atomically(json_file, study::results_json(results, 1) + "\n");
  }
  if (values["json"].as<bool>()) {
    print_json_text(study::results_json(results));
  } else if (out.empty()) {
    say("{}", Lines{page});
  } else {
    say("{}\n", (fs::path(out) / "RESULTS.md").string());
  }
  return damaged ? 1 : 0;
}

}  // namespace kappascope::cli
