// SPDX-License-Identifier: Apache-2.0
#include "cli/study/result.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/study/comparison.h"
#include "kappascope/core/error.h"
#include "kappascope/core/paired.h"
#include "kappascope/core/version.h"
#include "kappascope/store/run.h"

namespace kappascope::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

ordered_json finite(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json();
}

double median_of(const std::vector<const store::RunEnd*>& runs, const std::string& quantity) {
  std::vector<double> values;
  for (const auto* run : runs) {
    const auto found = run->values.find(quantity);
    if (found != run->values.end()) values.push_back(found->second.value);
  }
  return median(values);
}

/// What distinguishes the arms beside what is compared: their size and what they took.
ordered_json arm_json(const std::string& arm, const std::vector<store::RunEnd>& ends) {
  std::vector<const store::RunEnd*> runs;
  for (const auto& end : ends) {
    if (end.arm == arm) runs.push_back(&end);
  }
  const auto diverged = std::ranges::count(runs, std::string("failed"), &store::RunEnd::state);
  ordered_json json = {{"arm", arm}, {"runs", runs.size()}, {"diverged", diverged}};
  if (runs.empty()) return json;
  const auto parameters = runs.front()->fact("parameters");
  if (!parameters.empty()) json["parameters"] = std::stoll(parameters);
  json["memory"] = finite(median_of(runs, "memory/training"));
  json["probing"] = finite(median_of(runs, "cost/total"));
  json["spikes"] = finite(median_of(runs, "spikes/count"));
  return json;
}

ordered_json verdict_of(const theory::Claim& claim, const theory::Verdict& verdict) {
  auto json = ordered_json::parse(theory::verdict_json(claim, verdict));
  json.erase("seconds");  // all else is the same when the runs are
  json.erase("seed");
  return json;
}

}  // namespace

void check_claims(const Study& study) {
  for (const auto& id : study.claims) {
    const auto* claim = theory::find_claim(id);
    if (claim == nullptr) {
      throw UsageError(fmt::format(
          "{}: no claim is called {}; kappascope verify --list shows them", study.name, id));
    }
    if (std::ranges::find(claim->studies, study.name) == claim->studies.end()) {
      throw UsageError(fmt::format(
          "{0}: {1} is not measured by a study of that name ({2}); take it out of study.claims",
          study.name,
          id,
          claim->studies.empty() ? "but by kappascope verify"
                                 : fmt::format("but by {}", fmt::join(claim->studies, ", "))));
    }
  }
}

ClaimVerdicts decide_claims(const Study& study, const std::vector<store::RunEnd>& ends) {
  ClaimVerdicts verdicts;
  for (const auto& id : study.claims) {
    const auto* claim = theory::find_claim(id);
    verdicts.emplace_back(claim, theory::measure(*claim, {study.name, ends}));
  }
  return verdicts;
}

ordered_json result_json(const StudyResult& result, const ClaimVerdicts& verdicts) {
  std::set<std::string> data, seeds, steps;
  for (const auto& end : result.ends) {
    data.insert(end.data());
    seeds.insert(end.seed);
    steps.insert(end.fact("steps"));
  }
  ordered_json json = {{"study", result.study.name},
                       {"version", version()},
                       {"command", result.command},
                       {"data", fmt::format("{}", fmt::join(data, "; "))},
                       {"steps", fmt::format("{}", fmt::join(steps, ", "))},
                       {"seeds", seeds.size()},
                       {"runs", result.runs},
                       {"ended", result.ends.size()},
                       {"arms", ordered_json::array()},
                       {"comparisons", comparisons_json(result.comparisons)},
                       {"verdicts", ordered_json::array()}};
  for (const auto& [arm, changes] : result.study.arms)
    json["arms"].push_back(arm_json(arm, result.ends));
  for (const auto& [claim, verdict] : verdicts)
    json["verdicts"].push_back(verdict_of(*claim, verdict));
  return json;
}

void write_result(const fs::path& root, const ordered_json& result, const ClaimVerdicts& verdicts) {
  const auto dir = root / "study";
  fs::remove_all(dir);
  auto writer = store::RunWriter::create(
      dir, {{"kind", "study"}, {"label", result["study"]}, {"result", result.dump()}});
  for (const auto& [claim, verdict] : verdicts) {
    writer.write_verdict({claim->id,
                          theory::to_string(verdict.outcome),
                          verdict.condition,
                          theory::verdict_json(*claim, verdict)});
  }
  writer.set_state("finished");
}

ordered_json read_result(const fs::path& root) {
  const auto dir = root / "study";
  require(fs::exists(dir / "run.sqlite"),
          root.string(),
          " holds no result of a study: let its sweep come to its end first (kappascope sweep)");
  const auto text = store::RunReader(dir).fact("result");
  require(!text.empty(), dir.string(), " holds no result: run the sweep again");
  return ordered_json::parse(text);
}

}  // namespace kappascope::cli
