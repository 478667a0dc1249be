// SPDX-License-Identifier: Apache-2.0
#include "reports/live/status.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reports/html/text.h"
#include "reports/number_format.h"

namespace kappascope::reports {
namespace {

/// Runs that are told one by one.
constexpr std::size_t kFewNames = 4;

std::string last_step(const Arm& arm) {
  return arm.last_step < 0 ? "no step yet" : "step " + grouped(static_cast<double>(arm.last_step));
}

/// The page's script shows how long ago that is.
std::string time_html(const std::string& time) {
  if (time.empty()) return "";
  const auto text = escape_html(time);
  return fmt::format(" <time datetime=\"{0}\">{0}</time>", text);
}

std::string run_html(const Arm& arm) {
  return fmt::format("<span class=\"activity {}\"><b>{}</b>: {}{}</span>",
                     arm.state == "dead" || arm.state == "failed" ? "bad" : "",
                     escape_html(arm.label),
                     escape_html(activity(arm)),
                     time_html(arm.last_written));
}

/// "3 running, 1 finished".
std::string counted_states(const std::vector<Arm>& arms) {
  std::map<std::string, std::size_t> counts;
  for (const Arm& arm : arms) ++counts[arm.state];
  std::vector<std::string> parts;
  for (const char* state : {"running", "finished", "interrupted", "failed", "dead"}) {
    if (counts[state] > 0) parts.push_back(fmt::format("{} {}", counts[state], state));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::string activity(const Arm& arm) {
  const std::string step = last_step(arm);
  if (arm.state == "running") return "running, " + step + (arm.last_written.empty() ? "" : ",");
  if (arm.state == "dead") return "its process is gone; last sign of life at " + step + ",";
  return arm.state + ", " + step + (arm.last_written.empty() ? "" : ",");
}

std::string note_html(const std::vector<Arm>& arms, const std::vector<std::string>& problems) {
  std::vector<std::string> parts;
  if (arms.size() <= kFewNames) {
    for (const Arm& arm : arms) parts.push_back(run_html(arm));
  } else {
    const auto newest = std::ranges::max_element(arms, {}, &Arm::last_written);
    parts.push_back(counted_states(arms) + "; the last row" + time_html(newest->last_written));
    std::size_t dead = 0;
    for (const Arm& arm : arms) {
      if (arm.state == "dead" && ++dead <= kFewNames) parts.push_back(run_html(arm));
    }
    if (dead > kFewNames) parts.push_back(fmt::format("and {} more that died", dead - kFewNames));
  }
  for (const auto& problem : problems)
    parts.push_back("<span class=\"activity bad\">" + escape_html(problem) + "</span>");
  return fmt::format("{}", fmt::join(parts, " <span aria-hidden=\"true\">·</span> "));
}

}  // namespace kappascope::reports
