// SPDX-License-Identifier: Apache-2.0
#include "kappascope/store/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/json_line.h"
#include "cli/say.h"
#include "kappascope/core/notice.h"
#include "kappascope/core/printable.h"
#include "kappascope/train/checkpoint.h"

namespace kappascope::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Checked {
  store::StoreCheck store;
  int checkpoints = 0;      ///< that are whole
  int old_checkpoints = 0;  ///< of version 0.1, which are not read
  std::vector<std::string> damage;
};

Checked check(const fs::path& run) {
  Checked found;
  found.store = store::check_store(run);
  found.damage = found.store.damage;
  for (const auto& file : train::checkpoint_files(run)) {
    if (train::checkpoint_step(file) < 0) {
      ++found.old_checkpoints;
      continue;
    }
    try {
      train::read_checkpoint(file);
      ++found.checkpoints;
    } catch (const std::bad_alloc&) {
      throw;  // says nothing about the checkpoint
    } catch (const std::exception& error) {
      found.damage.emplace_back(error.what());
    }
  }
  return found;
}

std::string places(std::size_t count) {
  return fmt::format("{} place{}", count, count == 1 ? "" : "s");
}

void print_text(const std::string& run, const Checked& found) {
  say("{}: {}; {} rows{}, {} whole checkpoints{}\n",
      printable(run),
      found.damage.empty() ? "whole" : "DAMAGED in " + places(found.damage.size()),
      found.store.rows,
      found.store.checksums ? "" : " without checksums (written before version 0.2)",
      found.checkpoints,
      found.old_checkpoints == 0
          ? ""
          : fmt::format(", {} of version 0.1 that are not read", found.old_checkpoints));
  for (const auto& what : found.damage) say("  {}\n", printable(what));
}

}  // namespace

int run_check(const Arguments& arguments) {
  std::vector<std::string> runs;
  Usage usage;
  usage.synopsis = "kappascope check RUN... [--json]";
  usage.text =
      "Looks for damage: every page and every row of the database, and every checkpoint, against\n"
      "their checksums, and that no row is missing. What is damaged is listed; other commands warn "
      "of\n"
      "it, go on without and end with status 1. Exit status 1 where anything is damaged.\n\n"
      "example: kappascope check runs/pgb";
  usage.options.add_options()("help,h", "show this text")(
      "run", po::value(&runs)->required(), "runs to look at")(
      "json", po::bool_switch(), "print one JSON object per run and line");
  usage.positional = "run";
  usage.positional_count = -1;
  po::variables_map values;
  if (!parse(arguments, usage, values)) return 0;
  bool damaged = false;
  for (const auto& run : runs) {
    const auto found = check(run);
    damaged = damaged || !found.damage.empty();
    if (!values["json"].as<bool>()) {
      print_text(run, found);
      continue;
    }
    const Json row = {{"run", run},
                      {"whole", found.damage.empty()},
                      {"rows", found.store.rows},
                      {"checksums", found.store.checksums},
                      {"checkpoints", found.checkpoints},
                      {"old_checkpoints", found.old_checkpoints},
                      {"damage", found.damage}};
    print_json(row);
  }
  return damaged ? 1 : 0;
}

bool warn_of_damage(const std::vector<fs::path>& runs) {
  constexpr std::size_t kShown = 3;
  bool any = false;
  for (const auto& run : runs) {
    const auto damage = store::check_store(run).damage;
    if (damage.empty()) continue;
    any = true;
    std::string shown;
    for (std::size_t i = 0; i < std::min(kShown, damage.size()); ++i)
      shown += (i > 0 ? "; " : "") + damage[i];
    notice(
        "kappascope: warning: {} is damaged in {} and read without: {}{}; "
        "`kappascope check` lists them\n",
        printable(run.string()),
        places(damage.size()),
        printable(shown),
        damage.size() > kShown ? "; ..." : "");
  }
  return any;
}

}  // namespace kappascope::cli
