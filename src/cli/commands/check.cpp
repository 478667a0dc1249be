// SPDX-License-Identifier: Apache-2.0
#include "store/check.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/json_line.h"
#include "cli/program.h"
#include "cli/say.h"

namespace kappascope::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Checked {
  store::StoreCheck store;
  CheckedCheckpoints checkpoints;
  std::vector<std::string> damage;  ///< of both
};

Checked check(const fs::path& run) {
  Checked found{store::check_store(run), {.looked = false}, {}};
  // Their format is the trainer's.
  if (extension().check_checkpoints) found.checkpoints = extension().check_checkpoints(run);
  found.damage = found.store.damage;
  const auto& of_checkpoints = found.checkpoints.damage;
  found.damage.insert(found.damage.end(), of_checkpoints.begin(), of_checkpoints.end());
  return found;
}

std::string checkpoints_text(const CheckedCheckpoints& found) {
  if (!found.looked) return "checkpoints not looked at";
  return fmt::format(
      "{} whole checkpoints{}",
      found.whole,
      found.old == 0 ? "" : fmt::format(", {} of version 0.1 that are not read", found.old));
}

std::string places(std::size_t count) {
  return fmt::format("{} place{}", count, count == 1 ? "" : "s");
}

void print_text(const std::string& run, const Checked& found) {
  say("{}: {}; {} rows{}, {}\n",
      run,
      found.damage.empty() ? "whole" : "DAMAGED in " + places(found.damage.size()),
      found.store.rows,
      found.store.checksums ? "" : " without checksums (written before version 0.2)",
      checkpoints_text(found.checkpoints));
  for (const auto& what : found.damage) say("  {}\n", what);
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
      "run", po::value(&runs)->required(), "runs to check")(
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
    const auto seen = [&](int count) { return found.checkpoints.looked ? Json(count) : Json(); };
    const Json row = {{"run", run},
                      {"whole", found.damage.empty()},
                      {"rows", found.store.rows},
                      {"checksums", found.store.checksums},
                      {"checkpoints", seen(found.checkpoints.whole)},
                      {"old_checkpoints", seen(found.checkpoints.old)},
                      {"damage", found.damage}};
    print_json(row);
  }
  return damaged ? 1 : 0;
}

}  // namespace kappascope::cli
