// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lab/report/builders.h"
#include "reports/number_format.h"

namespace kappascope::reports {
namespace {

using Findings = std::vector<Finding>;

/// What fits into three lines, up to the end of a clause; the ledger has all of it.
std::string beginning(const std::string& text) {
  constexpr std::size_t kLong = 320;
  if (text.size() <= kLong) return text;
  std::size_t end = std::max(text.rfind(". ", kLong) + 1, text.rfind("; ", kLong) + 1);
  if (end == 0) end = text.rfind(' ', kLong) + 1;
  return end == 0 ? text : text.substr(0, end) + " … (all of it in the ledger below)";
}

void find_verdicts(const StudyView& study, Findings& out) {
  for (const auto& claim : study.verdicts) {
    std::string outcome = to_string(claim.verdict.outcome);
    outcome[0] = static_cast<char>(outcome[0] - 'a' + 'A');
    out.push_back({"verdict",
                   fmt::format("{}: {}{}",
                               outcome,
                               claim.claim,
                               claim.statement.empty() ? "." : " – " + claim.statement),
                   beginning(claim.verdict.condition),
                   false,
                   "Claims"});
  }
}

/// "seeds 2 and 4 under learning-rate 0.3".
std::string failures_of(const StudyView& study, const std::string& arm, std::size_t& count) {
  std::vector<std::string> places;
  for (const auto& condition : study.conditions) {
    std::vector<std::string> seeds;
    for (const auto* run : study.runs_of(arm, condition)) {
      if (run->state == "failed") seeds.push_back(run->seed);
    }
    count += seeds.size();
    if (seeds.empty()) continue;
    places.push_back((seeds.size() == 1 ? "seed " : "seeds ") + listed(seeds) +
                     (condition.empty() ? "" : " under " + condition));
  }
  std::string text;
  for (const auto& place : places) text += (text.empty() ? "" : "; ") + place;
  return text;
}

void find_left_out(const StudyView& study, Findings& out) {
  for (const auto& arm : study.arms) {
    std::size_t failed = 0;
    const auto which = failures_of(study, arm, failed);
    if (failed == 0) continue;
    const auto runs =
        static_cast<std::size_t>(std::ranges::count(study.runs, arm, &study::RunEnd::arm));
    out.push_back(
        {"diverged",
         fmt::format("{}: {} of {} diverged ({}).", arm, failed, counted(runs, "run"), which),
         "Left out of the curves, and of the differences with the runs of the same seed.",
         true,
         "Left out"});
  }
  std::size_t fewer = 0;
  std::int64_t unpaired = 0;
  std::int64_t left_out = 0;
  for (const auto& c : study.comparisons) {
    fewer += c.unpaired + c.difference.left_out > 0 ? 1U : 0U;
    unpaired += c.unpaired;
    left_out += c.difference.left_out;
  }
  if (fewer == 0) return;
  std::vector<std::string> why;
  if (unpaired > 0)
    why.push_back(fmt::format("{} a run of either arm has no partner of its seed",
                              counted(static_cast<std::size_t>(unpaired), "time")));
  if (left_out > 0)
    why.push_back(fmt::format("{} a pair has a run that diverged or a value that is not to be used",
                              counted(static_cast<std::size_t>(left_out), "time")));
  out.push_back({"left_out",
                 fmt::format("{} of {} made without some of the runs.",
                             fewer,
                             counted(study.comparisons.size(), "comparison") +
                                 (study.comparisons.size() == 1 ? " is" : " are")),
                 "Over all of them " + listed(why) + "; the table below counts them one by one.",
                 true,
                 "Left out"});
}

void find_extent(const StudyView& study, Findings& out) {
  std::set<std::string> seeds;
  for (const auto& run : study.runs) seeds.insert(run.seed);
  const auto apart = static_cast<std::size_t>(
      std::ranges::count_if(study.comparisons, &study::Comparison::is_significant));
  std::string text =
      fmt::format("{}: {}", counted(study.runs.size(), "run"), counted(study.arms.size(), "arm"));
  if (study.conditions.size() > 1) text += ", " + counted(study.conditions.size(), "condition");
  text += fmt::format(", {}. Every arm is compared with {}, by pairs of runs of one seed.",
                      counted(seeds.size(), "seed"),
                      study.control);
  if (const auto& only = study.conditions.front(); study.conditions.size() == 1 && !only.empty())
    text += " All under " + only + ".";
  out.push_back({"extent",
                 text,
                 fmt::format("{} made; {} significant, {} not; all are in the table below.",
                             counted(study.comparisons.size(), "comparison"),
                             apart,
                             study.comparisons.size() - apart),
                 false,
                 "Study"});
}

}  // namespace

std::vector<Finding> study_findings(const StudyView& study) {
  Findings found;
  find_verdicts(study, found);
  find_differences(study, found);
  find_left_out(study, found);
  find_extent(study, found);
  return found;
}

}  // namespace kappascope::reports
