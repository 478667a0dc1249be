// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/json_line.h"
#include "cli/progress.h"
#include "cli/say.h"
#include "core/closest.h"
#include "core/notice.h"
#include "core/printable.h"
#include "kappascope/core/error.h"
#include "kappascope/store/run.h"
#include "lab/cli/commands/commands.h"
#include "lab/cli/commands/expectations.h"
#include "theory/claim.h"
#include "theory/explain.h"
#include "theory/studied.h"

namespace kappascope::cli {
namespace {

constexpr int kUnexpectedVerdict = 3;

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// The claims that `wanted` names, in either case: an id selects that claim, any other word the
/// family that begins with it (P-L2: P-L2a to P-L2s). All where nothing is named.
std::vector<const theory::Claim*> select(const std::vector<std::string>& wanted) {
  std::vector<const theory::Claim*> selected;
  std::vector<std::string> names, ids;
  for (const auto& claim : theory::all_claims()) {
    names.push_back(claim.id);
    ids.push_back(lower(claim.id));
  }
  const auto takes = [&](const std::string& word, const std::string& id) {
    const bool is_id = std::find(ids.begin(), ids.end(), lower(word)) != ids.end();
    return is_id ? id == lower(word) : id.rfind(lower(word), 0) == 0;
  };
  for (const auto& word : wanted) {
    if (std::any_of(ids.begin(), ids.end(), [&](const auto& id) { return takes(word, id); }))
      continue;
    const auto near = closest(word, names);
    throw UsageError(fmt::format(
        "no claim begins with '{}'{}",
        word,
        near.empty() ? "; --list shows them" : fmt::format(": did you mean {}?", near)));
  }
  for (const auto& claim : theory::all_claims()) {
    const bool chosen =
        wanted.empty() || std::any_of(wanted.begin(), wanted.end(), [&](const auto& word) {
          return takes(word, lower(claim.id));
        });
    if (chosen) selected.push_back(&claim);
  }
  return selected;
}

void print_list(const std::vector<const theory::Claim*>& claims, bool as_json) {
  for (const auto* claim : claims) {
    const std::string needs = claim->needs_run      ? "--run"
                              : claim->check        ? ""
                              : claim->open.empty() ? "studies"
                                                    : "undecided";
    if (as_json) {
      const nlohmann::ordered_json line = {{"claim", claim->id},
                                           {"statement", claim->statement},
                                           {"source", claim->source},
                                           {"needs", needs}};
      print_json(line);
    } else {
      say("{:<9} {} [{}]{}\n",
          claim->id,
          claim->statement,
          claim->source,
          needs.empty() ? "" : " (" + needs + ")");
    }
  }
}

void print_explanation(const theory::Claim& claim, const std::optional<theory::Verdict>& verdict) {
  const auto& all = theory::all_claims();
  const auto corrected = std::find_if(
      all.begin(), all.end(), [&](const auto& other) { return other.id == claim.id + "'"; });
  say("{}\n",
      Lines{theory::explain(claim,
                            verdict,
                            corrected == all.end() ? nullptr : &*corrected,
                            theory::studied(claim.id))});
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
    if (!claim->needs_run) say("{}", Lines{theory::table_row(*claim, verdict)});
  }
  for (const auto& [claim, verdict] : decided) {
    if (claim->needs_run) say("\n{}", Lines{theory::brief(*claim, verdict)});
  }
  std::string sum;
  for (const auto& [outcome, count] : counts) {
    sum += fmt::format("{}{} {}", sum.empty() ? "" : ", ", theory::to_string(outcome), count);
  }
  say("\n{}; evidence: kappascope verify --explain CLAIM\n", sum);
}

void store_verdicts(store::RunWriter& writer, const std::vector<Decided>& decided) {
  for (const auto& [claim, verdict] : decided) {
    writer.write_verdict({claim->id,
                          theory::to_string(verdict.outcome),
                          verdict.condition,
                          theory::verdict_json(*claim, verdict)});
  }
  writer.make_durable();
}

void say_what_waits(const std::vector<const theory::Claim*>& claims,
                    const theory::CheckContext& context) {
  const auto count = [&](const auto& kind) {
    return std::count_if(claims.begin(), claims.end(), kind);
  };
  const auto runs = count([&](const auto* claim) { return claim->needs_run && !context.run; });
  const auto studies =
      count([](const auto* claim) { return !claim->studies.empty() && !claim->check; });
  const auto open = count([](const auto* claim) { return !claim->open.empty(); });
  if (runs > 0) notice("{} claims about training need a run: pass --run RUN\n", runs);
  if (studies > 0) notice("{} claims are decided by studies: --list names them\n", studies);
  if (open > 0) notice("{} claims are undecided: --explain says what would decide them\n", open);
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
      "Decides the claims of the four documents by computation: all of them as a table, in a\n"
      "quarter of a minute, or the named ones with their evidence. P-L2a is one claim, P-L2a' its "
      "correction,\n"
      "and P-L2 the family. Claims about training need --run; the verdicts are then stored in "
      "that\n"
      "run, and its report shows them. A refuted claim is a result: the exit status is 0. With\n"
      "--expect the status is 3 where a verdict differs from the expected one.\n\n"
      "examples: kappascope verify P-P1f --explain\n"
      "          kappascope verify --json > ledger.json\n"
      "          kappascope verify --expect ledger.json";
  usage.options.add_options()("help,h", "show this text")(
      "claim", po::value(&wanted), "claims or families to decide; all if not given")(
      "run",
      po::value(&run)->value_name("RUN"),
      "decide the claims about training on this run, and store all verdicts in it")(
      "seed",
      po::value(&context.seed)->default_value(context.seed)->value_name("N"),
      "seed of searches and Monte Carlo")(
      "explain",
      po::bool_switch(),
      "print each claim as a referee's report: quote, verdict, witness, correction, how sure")(
      "list", po::bool_switch(), "list the claims without deciding them")(
      "json", po::bool_switch(), "print one JSON object per line")(
      "expect",
      po::value(&expected)->value_name("FILE"),
      "compare outcomes and conditions with the output of an earlier --json");
  usage.positional = "claim";
  usage.positional_count = -1;
  po::variables_map values;
  if (!parse(arguments, usage, values)) return 0;
  const auto claims = select(wanted);
  if (values["list"].as<bool>()) {
    print_list(claims, values["json"].as<bool>());
    return 0;
  }
  // Opened first: what is wrong with the run is said before minutes of work.
  std::optional<store::RunWriter> writer;
  bool damaged = false;
  if (!run.empty()) {
    damaged = warn_of_damage({run});
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
    return damaged ? 1 : 0;
  }
  if (!expected.empty()) {
    const auto found = differences(expected, decided);
    for (const auto& line : found) say("{}\n", line);
    if (found.empty()) say("{} verdicts as expected\n", decided.size());
    if (!found.empty()) return kUnexpectedVerdict;
    return damaged ? 1 : 0;
  }
  if (wanted.empty() && !values["json"].as<bool>()) {
    print_table(decided);
  } else {
    for (const auto& [claim, verdict] : decided) {
      if (values["json"].as<bool>()) {
        print_json_text(theory::verdict_json(*claim, verdict));
      } else {
        say("{}\n", Lines{theory::brief(*claim, verdict)});
      }
    }
  }
  say_what_waits(claims, context);
  return damaged ? 1 : 0;
}

}  // namespace kappascope::cli
