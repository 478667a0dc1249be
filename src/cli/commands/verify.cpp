// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/progress.h"
#include "kappascope/core/error.h"
#include "kappascope/store/run.h"
#include "kappascope/theory/claim.h"

namespace kappascope::cli {
namespace {

std::vector<const theory::Claim*> select(const std::vector<std::string>& wanted) {
  std::vector<const theory::Claim*> selected;
  std::vector<std::string> names;
  for (const auto& claim : theory::all_claims()) names.push_back(claim.id);
  for (const auto& word : wanted) {
    // A family is a prefix: P-L2 takes P-L2a to P-L2e and their corrections.
    const auto hit = std::any_of(
        names.begin(), names.end(), [&](const auto& id) { return id.rfind(word, 0) == 0; });
    if (!hit) {
      const auto near = closest(word, names);
      throw UsageError(fmt::format(
          "no claim begins with '{}'{}",
          word,
          near.empty() ? "; --list shows them" : fmt::format(": did you mean {}?", near)));
    }
  }
  for (const auto& claim : theory::all_claims()) {
    const bool chosen =
        wanted.empty() || std::any_of(wanted.begin(), wanted.end(), [&](const auto& word) {
          return claim.id.rfind(word, 0) == 0;
        });
    if (chosen) selected.push_back(&claim);
  }
  return selected;
}

}  // namespace

int run_verify(const Arguments& arguments) {
  std::vector<std::string> wanted;
  std::string run;
  theory::CheckContext context;
  Usage usage;
  usage.synopsis = "kappascope verify [CLAIM...] [--run RUN] [--list] [--json]";
  usage.text =
      "Decides the claims of the documents by computation and prints each verdict with its "
      "evidence.\n"
      "A name takes its family (P-L2: P-L2a to P-L2e). Claims about training need --run; their "
      "verdicts\n"
      "and all others are then also written into that run, for its report. A refuted claim is a\n"
      "result: the exit status is 0.\n\n"
      "example: kappascope verify P-P1f";
  usage.options.add_options()("help,h", "this text")(
      "claim", po::value(&wanted), "claims or families")(
      "run",
      po::value(&run),
      "decide the measured claims on this run, and store the verdicts there")(
      "seed", po::value(&context.seed)->default_value(context.seed), "of searches and Monte Carlo")(
      "list", po::bool_switch(), "list the claims and what they state")(
      "json", po::bool_switch(), "print JSON lines");
  usage.positional = "claim";
  usage.positional_count = -1;
  po::variables_map values;
  if (!parse(arguments, usage, values)) return 0;
  const auto claims = select(wanted);
  if (values["list"].as<bool>()) {
    for (const auto* claim : claims) {
      fmt::print("{:<9} {} [{}]{}\n",
                 claim->id,
                 claim->statement,
                 claim->source,
                 claim->needs_run ? " (needs --run)" : "");
    }
    return 0;
  }
  std::optional<store::RunWriter> writer;
  if (!run.empty()) {
    context.run = run;
    writer = store::RunWriter::append(run);
  }
  ProgressLine line;
  int skipped = 0, index = 0;
  std::vector<std::string> rows;
  for (const auto* claim : claims) {
    line.show(fmt::format("verifying {} ({} of {})", claim->id, ++index, claims.size()));
    if (claim->needs_run && run.empty()) {
      ++skipped;
      continue;
    }
    const auto verdict = claim->check(context);
    const auto json = theory::verdict_json(*claim, verdict);
    if (writer)
      writer->write_verdict(
          {claim->id, theory::to_string(verdict.outcome), verdict.condition, json});
    if (values["json"].as<bool>()) {
      rows.push_back(json);
      continue;
    }
    auto row = fmt::format(
        "{:<9} {:<12} {}", claim->id, theory::to_string(verdict.outcome), claim->statement);
    if (!verdict.condition.empty()) row += "\n          condition: " + verdict.condition;
    row += fmt::format("\n          {}: {:.6g}; {}: {:.6g}; {} cases, {}",
                       verdict.left,
                       verdict.measured,
                       verdict.right,
                       verdict.predicted,
                       verdict.cases,
                       verdict.route);
    if (!verdict.witness.empty()) row += "\n          witness: " + verdict.witness;
    rows.push_back(std::move(row));
  }
  line.show(fmt::format("{} claims decided", claims.size() - static_cast<std::size_t>(skipped)),
            true);
  for (const auto& row : rows) fmt::print("{}\n", row);
  if (skipped > 0)
    fmt::print(stderr, "{} claims about training were left out: pass --run RUN\n", skipped);
  return 0;
}

}  // namespace kappascope::cli
