// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "cli/command.h"
#include "cli/expectations.h"
#include "cli/progress.h"
#include "kappascope/core/error.h"
#include "kappascope/store/run.h"
#include "kappascope/theory/claim.h"
#include "kappascope/theory/explain.h"

namespace kappascope::cli {
namespace {

constexpr int kUnexpectedVerdict = 3;

std::vector<const theory::Claim*> select(const std::vector<std::string>& wanted) {
  std::vector<const theory::Claim*> selected;
  std::vector<std::string> names;
  for (const auto& claim : theory::all_claims()) names.push_back(claim.id);
  // An id takes that claim; what is none takes the family that begins so: P-L2 has P-L2a to P-L2s.
  const auto takes = [&](const std::string& word, const std::string& id) {
    const bool is_id = std::find(names.begin(), names.end(), word) != names.end();
    return is_id ? id == word : id.rfind(word, 0) == 0;
  };
  for (const auto& word : wanted) {
    const auto hit =
        std::any_of(names.begin(), names.end(), [&](const auto& id) { return takes(word, id); });
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
          return takes(word, claim.id);
        });
    if (chosen) selected.push_back(&claim);
  }
  return selected;
}

void print_list(const std::vector<const theory::Claim*>& claims) {
  for (const auto* claim : claims) {
    const std::string needs = claim->needs_run ? " (needs --run)"
                              : claim->check   ? ""
                                               : " (studies)";
    fmt::print("{:<9} {} [{}]{}\n", claim->id, claim->statement, claim->source, needs);
  }
}

void print_explanation(const theory::Claim& claim, const std::optional<theory::Verdict>& verdict) {
  const auto& all = theory::all_claims();
  const auto corrected = std::find_if(
      all.begin(), all.end(), [&](const auto& other) { return other.id == claim.id + "'"; });
  fmt::print("{}\n",
             theory::explain(claim, verdict, corrected == all.end() ? nullptr : &*corrected));
}

std::vector<Decided> decide(const std::vector<const theory::Claim*>& claims,
                            const theory::CheckContext& context) {
  std::vector<Decided> decided;
  ProgressLine line;
  std::size_t index = 0;
  for (const auto* claim : claims) {
    line.show(fmt::format("verifying {} ({} of {})", claim->id, ++index, claims.size()));
    if (claim->decidable(context)) decided.emplace_back(claim, claim->check(context));
  }
  line.show(fmt::format("{} claims decided", decided.size()), true);
  return decided;
}

/// What was decided without a run, a line each, then what was measured, then how many of each.
void print_table(const std::vector<Decided>& decided) {
  std::map<theory::Outcome, int> counts;
  for (const auto& [claim, verdict] : decided) {
    ++counts[verdict.outcome];
    if (!claim->needs_run) fmt::print("{}", theory::table_row(*claim, verdict));
  }
  for (const auto& [claim, verdict] : decided) {
    if (claim->needs_run) fmt::print("\n{}", theory::brief(*claim, verdict));
  }
  std::string sum;
  for (const auto& [outcome, count] : counts) {
    sum += fmt::format("{}{} {}", sum.empty() ? "" : ", ", theory::to_string(outcome), count);
  }
  fmt::print("\n{}; the evidence: kappascope verify --explain CLAIM\n", sum);
}

void store_verdicts(store::RunWriter& writer, const std::vector<Decided>& decided) {
  for (const auto& [claim, verdict] : decided) {
    writer.write_verdict({claim->id,
                          theory::to_string(verdict.outcome),
                          verdict.condition,
                          theory::verdict_json(*claim, verdict)});
  }
}

void say_what_waits(const std::vector<const theory::Claim*>& claims,
                    const theory::CheckContext& context) {
  const auto count = [&](const auto& kind) {
    return std::count_if(claims.begin(), claims.end(), kind);
  };
  const auto runs = count([&](const auto* claim) { return claim->needs_run && !context.run; });
  const auto studies = count([](const auto* claim) { return !claim->check; });
  if (runs > 0)
    fmt::print(stderr, "{} claims about training were left out: pass --run RUN\n", runs);
  if (studies > 0)
    fmt::print(stderr, "{} claims are measured by studies: --list names them\n", studies);
}

}  // namespace

int run_verify(const Arguments& arguments) {
  std::vector<std::string> wanted;
  std::string run, expected;
  theory::CheckContext context;
  Usage usage;
  usage.synopsis =
      "kappascope verify [CLAIM...] [--run RUN] [--explain] [--list] [--json] [--expect FILE]";
  usage.text =
      "Decides the claims of the documents by computation: all of them as a table, in half a\n"
      "minute, or those that are named, with their evidence. P-L2a is one claim, P-L2a' what it "
      "is\n"
      "corrected to, and P-L2 the family. Claims about training need --run; their verdicts and "
      "all\n"
      "others are then also written into that run, for its report. A refuted claim is a result: "
      "the\n"
      "exit status is 0; with --expect it is 3 when a verdict is not the expected one.\n\n"
      "examples: kappascope verify P-P1f --explain\n"
      "          kappascope verify --json > ledger.json; kappascope verify --expect ledger.json";
  usage.options.add_options()("help,h", "this text")(
      "claim", po::value(&wanted), "claims or families")(
      "run",
      po::value(&run),
      "decide the measured claims on this run, and store the verdicts there")(
      "seed", po::value(&context.seed)->default_value(context.seed), "of searches and Monte Carlo")(
      "explain",
      po::bool_switch(),
      "print each claim as a reviewer reads it: statement, source, derivation, witness, "
      "correction")("list", po::bool_switch(), "list the claims and what they state")(
      "json", po::bool_switch(), "print JSON lines")(
      "expect",
      po::value(&expected),
      "compare outcomes and conditions with this file, which --json printed");
  usage.positional = "claim";
  usage.positional_count = -1;
  po::variables_map values;
  if (!parse(arguments, usage, values)) return 0;
  const auto claims = select(wanted);
  if (values["list"].as<bool>()) {
    print_list(claims);
    return 0;
  }
  // Opened first: what is wrong with the run is said before minutes of work.
  std::optional<store::RunWriter> writer;
  if (!run.empty()) {
    context.run = run;
    writer = store::RunWriter::append(run);
  }
  const auto decided = decide(claims, context);
  if (writer) store_verdicts(*writer, decided);

  if (values["explain"].as<bool>()) {
    auto next = decided.begin();
    for (const auto* claim : claims) {
      const bool has_verdict = next != decided.end() && next->first == claim;
      print_explanation(*claim, has_verdict ? std::optional((next++)->second) : std::nullopt);
    }
    return 0;
  }
  if (!expected.empty()) {
    const auto found = differences(expected, decided);
    for (const auto& line : found) fmt::print("{}\n", line);
    if (found.empty()) fmt::print("{} verdicts as expected\n", decided.size());
    return found.empty() ? 0 : kUnexpectedVerdict;
  }
  if (wanted.empty() && !values["json"].as<bool>()) {
    print_table(decided);
  } else {
    for (const auto& [claim, verdict] : decided) {
      fmt::print("{}\n",
                 values["json"].as<bool>() ? theory::verdict_json(*claim, verdict)
                                           : theory::brief(*claim, verdict));
    }
  }
  say_what_waits(claims, context);
  return 0;
}

}  // namespace kappascope::cli
