// SPDX-License-Identifier: Apache-2.0
#include "lab/study/result.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>

#include "core/atomic_file.h"
#include "core/require.h"
#include "core/version.h"
#include "kappascope/core/error.h"
#include "kappascope/core/statistics.h"
#include "kappascope/store/run.h"
#include "kappascope/store/schema/series.h"
#include "lab/study/json.h"
#include "lab/study/metrics.h"

namespace kappascope::study {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolders = "runs";  // a fact of the stored result

double median_of(const std::vector<const RunEnd*>& runs, const std::string& quantity) {
  std::vector<double> values;
  for (const auto* run : runs) {
    const auto found = run->values.find(quantity);
    if (found != run->values.end()) values.push_back(found->second.value);
  }
  return median(values);
}

std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t value = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

ArmSummary summary_of(const std::string& arm, const std::vector<RunEnd>& all) {
  std::vector<const RunEnd*> runs;
  for (const auto& run : all) {
    if (run.arm == arm) runs.push_back(&run);
  }
  ArmSummary summary;
  summary.arm = arm;
  summary.runs = std::ssize(runs);
  summary.diverged = std::ranges::count(runs, std::string("failed"), &RunEnd::state);
  if (runs.empty()) return summary;
  summary.parameters = whole_number(runs.front()->fact("parameters"));
  summary.memory = median_of(runs, store::id::kMemoryTraining);
  summary.probing = median_of(runs, store::id::kCostTotal);
  summary.spikes = median_of(runs, metric::kSpikesCount);
  return summary;
}

}  // namespace

StudyResult summarise(const std::vector<RunEnd>& runs,
                      std::vector<std::string> arms,
                      const std::vector<std::string>& metrics) {
  std::set<std::string> data, seeds, steps;
  for (const auto& run : runs) {
    data.insert(run.data());
    seeds.insert(run.seed);
    steps.insert(run.fact("steps"));
    if (std::ranges::find(arms, run.arm) == arms.end()) arms.push_back(run.arm);
  }
  StudyResult result;
  result.version = version();
  result.data = fmt::format("{}", fmt::join(data, "; "));
  result.steps = fmt::format("{}", fmt::join(steps, ", "));
  result.seeds = std::ssize(seeds);
  result.runs = result.ended = std::ssize(runs);
  for (const auto& arm : arms) result.arms.push_back(summary_of(arm, runs));
  if (arms.size() > 1) result.comparisons = compare_runs(runs, arms.front(), metrics);
  return result;
}

namespace {

void write_store(const fs::path& dir, const StudyResult& result) {
  auto writer =
      store::RunWriter::create(dir,
                               {{"kind", "study"},
                                {"label", result.name},
                                {"result", result_json(result)},
                                {kFolders, fmt::format("{}", fmt::join(result.folders, "\n"))}});
  for (const auto& verdict : result.verdicts) writer.write_verdict(verdict_row(verdict));
  writer.set_state("finished");
}

}  // namespace

void require_place_for_result(const fs::path& folder) {
  const auto dir = folder / "study";
  const auto found = fs::symlink_status(dir);
  if (!fs::exists(found)) return;
  require(
      fs::is_directory(found) && has_result(folder),
      "{} is not the result of a study, which would replace it: move it, or choose another --out",
      dir.string());
}

void write_result(const fs::path& folder, const StudyResult& result) {
  require_place_for_result(folder);
  // Whole before it takes the place of the one that is there.
  const auto made = folder / ".study.new", dir = folder / "study";
  fs::remove_all(made);
  try {
    write_store(made, result);
    replace_directory(made, dir);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(made, ignored);
    throw;
  }
}

void mark_outdated(StudyResult& result) {
  if (result.outdated) return;
  result.outdated = true;
  for (auto& claim : result.verdicts) {
    auto& verdict = claim.verdict;
    verdict.condition = fmt::format(
        "the study was not run again since its definition changed; earlier it said: {}{}{}",
        to_string(verdict.outcome),
        verdict.condition.empty() ? "" : ", ",
        verdict.condition);
    verdict.outcome = Outcome::kUndecided;
    verdict.left.clear();
    verdict.p.reset();
    verdict.q.reset();
  }
}

namespace {

/// Whether the statement is of nobody's document: what is added here beside theirs.
bool is_ours(const ClaimVerdict& claim) {
  return claim.source.starts_with("ours");
}

void control_false_discovery_of(std::vector<StudyResult>& results, bool ours) {
  std::vector<Verdict*> tested;
  std::vector<double> p;
  for (auto& result : results) {
    for (auto& claim : result.verdicts) {
      if (!claim.verdict.p || is_ours(claim) != ours) continue;
      tested.push_back(&claim.verdict);
      p.push_back(*claim.verdict.p);
    }
  }
  const auto q = benjamini_hochberg(p);
  for (std::size_t i = 0; i < tested.size(); ++i) {
    auto& verdict = *tested[i];
    verdict.q = q[i];
    const bool decided = verdict.outcome == Outcome::kHolds ||
                         verdict.outcome == Outcome::kHoldsUnder ||
                         verdict.outcome == Outcome::kRefuted;
    if (!decided || q[i] < kLevel) continue;
    verdict.condition = fmt::format("by its study alone {}, but not beside all other verdicts: {}",
                                    to_string(verdict.outcome),
                                    verdict.condition);
    verdict.outcome = Outcome::kTooFewRuns;
    verdict.witness.clear();
  }
}

}  // namespace

void control_false_discovery(std::vector<StudyResult>& results) {
  for (const bool ours : {false, true}) control_false_discovery_of(results, ours);
}

bool has_result(const fs::path& folder) {
  const auto dir = folder / "study";
  return fs::exists(dir / "run.sqlite") && store::RunReader(dir).fact("kind") == "study";
}

bool holds_more(const fs::path& folder, const StudyResult& result) {
  if (result.ended == result.runs) return false;
  try {
    return has_result(folder) && read_result(folder).ended > result.ended;
  } catch (const Error&) {
    return false;  // what cannot be read is no loss
  }
}

StudyResult read_result(const fs::path& folder) {
  if (!has_result(folder)) {
    throw Error(folder.string() +
                " holds no result of a study: run its sweep to the end first (kappascope sweep)");
  }
  const auto dir = folder / "study";
  const auto text = store::RunReader(dir).fact("result");
  if (text.empty()) throw Error(dir.string() + " holds no result: run the sweep again");
  try {
    auto result = result_of(nlohmann::ordered_json::parse(text));
    std::istringstream folders(store::RunReader(dir).fact(kFolders));
    for (std::string line; std::getline(folders, line);) result.folders.push_back(line);
    return result;
  } catch (const std::exception& error) {
    throw Error(fmt::format("the result in {} cannot be read: {}", dir.string(), error.what()));
  }
}

std::string result_json(const StudyResult& result) {
  return json_of(result).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string results_json(const std::vector<StudyResult>& results, int indent) {
  nlohmann::ordered_json json = {{"studies", nlohmann::ordered_json::array()}};
  for (const auto& result : results) json["studies"].push_back(json_of(result));
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string comparisons_json(const std::vector<Comparison>& comparisons) {
  auto json = nlohmann::ordered_json::array();
  for (const auto& comparison : comparisons) json.push_back(json_of(comparison));
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<StudyResult> parse_results(const std::string& text) {
  std::vector<StudyResult> results;
  try {
    const auto json = nlohmann::ordered_json::parse(text);
    for (const auto& study : json.at("studies")) results.push_back(result_of(study));
  } catch (const std::exception& error) {
    throw Error(std::string("these are no results of studies: ") + error.what());
  }
  return results;
}

}  // namespace kappascope::study
