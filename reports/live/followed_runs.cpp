// SPDX-License-Identifier: Apache-2.0
#include "reports/live/followed_runs.h"

#include <algorithm>

#include "core/require.h"
#include "core/time.h"

namespace fs = std::filesystem;

namespace kappascope::reports {
namespace {

constexpr double kSearchSeconds = 2;

bool same(const store::StepEvent& a, const store::StepEvent& b) {
  return a.step == b.step && a.time == b.time && a.event.kind == b.event.kind &&
         a.event.message == b.event.message;
}

/// Whether what was read of the run still stands. A resumption removes rows, a spectrum replaces
/// its own, and another run may have taken its place.
bool only_grew(const Arm& arm, const store::RunReader& run) {
  if (arm.state != run.state() || arm.fact("created") != run.fact("created") ||
      arm.last_step > run.last_step())
    return false;
  const auto& before = arm.events;
  const auto now = run.events();
  if (now.size() < before.size() || !std::equal(before.begin(), before.end(), now.begin(), same))
    return false;
  const auto added = now.begin() + static_cast<std::ptrdiff_t>(before.size());
  return std::none_of(added, now.end(), [](const store::StepEvent& event) {
    return event.event.kind == "resumed" || event.event.kind == "spectrum";
  });
}

/// Those that are there by now.
std::vector<fs::path> runs_in(const fs::path& place) {
  try {
    auto found = store::runs_at({place});
    if (found == std::vector{place} && store::stamp_of(place).database == 0) found.clear();
    return found;
  } catch (const Error&) {
    return {};  // the folder is gone; what was read of it stays
  }
}

}  // namespace

FollowedRuns::FollowedRuns(std::vector<fs::path> places) : places_(std::move(places)) {
  require(!places_.empty(), "name at least one run, or a folder of runs");
  for (const auto& place : places_) {
    std::error_code ignored;
    require(fs::is_directory(place, ignored), "there is no run and no folder {}", place.string());
  }
}

bool FollowedRuns::update() {
  if (const double now = monotonic_seconds(); runs_.empty() || now - searched_ >= kSearchSeconds) {
    searched_ = now;
    search();
  }
  bool changed = false;
  for (auto& run : runs_) changed |= refresh(run);
  if (changed) label_arms(arms_);
  return changed;
}

std::vector<std::string> FollowedRuns::problems() const {
  std::vector<std::string> out;
  for (const auto& run : runs_) {
    if (!run.problem.empty()) out.push_back(run.dir.string() + ": " + run.problem);
  }
  return out;
}

void FollowedRuns::search() {
  std::vector<fs::path> found;
  for (const auto& place : places_) {
    for (auto& dir : runs_in(place)) {
      const auto is_dir = [&](const Followed& run) { return run.dir == dir; };
      if (std::ranges::none_of(runs_, is_dir) && std::ranges::find(found, dir) == found.end())
        found.push_back(std::move(dir));
    }
  }
  for (auto& dir : found) runs_.push_back({.dir = std::move(dir)});
}

bool FollowedRuns::refresh(Followed& run) {
  const auto now = store::stamp_of(run.dir);
  const std::string before = run.problem;
  if (now.database == 0) {
    run.seen = {};
    run.problem = "it is gone; what is shown was read before.";
    return run.problem != before;
  }
  const bool died =
      run.arm && arms_[*run.arm].state == "running" && !store::is_being_written(run.dir);
  if (run.seen.still(now) && !died) return false;
  const bool another = run.seen.database != now.database;
  run.seen = now;
  run.problem.clear();
  try {
    read(run, another);
    return true;
  } catch (const std::exception& error) {
    run.problem = error.what();
    run.seen.settled = true;  // tried again when the files change
    return run.problem != before;
  }
}

void FollowedRuns::read(Followed& run, bool anew) {
  const store::RunReader reader(run.dir);
  if (run.arm && !anew && only_grew(arms_[*run.arm], reader)) {
    read_on(reader, arms_[*run.arm]);
    return;
  }
  Arm arm;
  read_on(reader, arm);
  if (!run.arm) {
    run.arm = arms_.size();
    arms_.emplace_back();
  }
  arms_[*run.arm] = std::move(arm);
}

}  // namespace kappascope::reports
