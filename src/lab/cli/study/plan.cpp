// SPDX-License-Identifier: Apache-2.0
#include "lab/cli/study/plan.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

#include "cli/json_line.h"
#include "cli/say.h"
#include "lab/cli/study/runs.h"

namespace kappascope::cli {
namespace {

constexpr double kGibibyte = 1024.0 * 1024 * 1024;

}  // namespace

void print_plan(const std::vector<study::StudyRun>& runs,
                const std::string& study,
                const PlanRequest& request,
                bool as_json) {
  if (request.devices != 1)
    throw UsageError("--plan-devices applies to one training: each run of a study uses one device");
  // Runs that differ in their seed alone take the same.
  std::map<std::pair<std::string, std::string>, std::pair<const study::StudyRun*, int>> kinds;
  std::vector<std::pair<std::string, std::string>> order;
  for (const auto& run : runs) {
    const auto key = std::pair{run.condition, run.arm};
    auto& [first, count] = kinds[key];
    if (first == nullptr) {
      first = &run;
      order.push_back(key);
    }
    ++count;
  }
  double hours = 0, bytes = 0;
  std::set<std::string> warnings;
  std::string basis;
  auto list = nlohmann::ordered_json::array();
  for (const auto& key : order) {
    const auto& [run, count] = kinds.at(key);
    const auto plan = plan_of(settings_of(*run, study), request);
    hours += count * plan.hours();
    bytes += count * plan.checkpoint_bytes;
    warnings.insert(plan.warnings.begin(), plan.warnings.end());
    basis = plan.basis;
    const bool timed = plan.seconds_per_step > 0;
    if (as_json) {
      list.push_back(to_json(plan));
      list.back()["arm"] = run->arm;
      list.back()["condition"] = run->condition;
      list.back()["runs"] = count;
    } else {
      say("{}{}{}: {} runs of {} steps, {:.4g} million parameters, {:.3g} GiB{}\n",
          run->condition,
          run->condition.empty() ? "" : ", ",
          run->arm,
          count,
          plan.steps,
          static_cast<double>(plan.parameters) / 1e6,
          plan.memory.total() / kGibibyte,
          timed ? fmt::format(", {:.3g} h each", plan.hours()) : "");
    }
  }
  if (as_json) {
    print_json(nlohmann::ordered_json{{"study", study},
                                      {"runs", runs.size()},
                                      {"hours", time_or_null(hours)},
                                      {"checkpoint_bytes", bytes},
                                      {"plans", list}});
    return;
  }
  say("all {} runs: {:.3g} GiB of checkpoints; time {}\n",
      runs.size(),
      bytes / kGibibyte,
      hours > 0 ? fmt::format("{:.3g} h one after another ({})", hours, basis) : basis);
  for (const auto& warning : warnings) say("warning: {}\n", warning);
}

}  // namespace kappascope::cli
