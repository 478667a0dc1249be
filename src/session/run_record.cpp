// SPDX-License-Identifier: Apache-2.0
#include "session/run_record.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/notice.h"
#include "core/require.h"
#include "kappascope/core/error.h"

namespace kappascope::session {
namespace {

constexpr double kFirstDelay = 1, kLongestDelay = 60;  // seconds

/// About what it takes in memory.
std::size_t bytes_of(const store::Snapshot& snapshot) {
  std::size_t bytes = sizeof snapshot;
  for (const auto& scalar : snapshot.scalars) {
    bytes += sizeof scalar + scalar.name.size() + scalar.layer.size();
    for (const auto& [key, text] : scalar.attributes) bytes += 64 + key.size() + text.size();
  }
  for (const auto& array : snapshot.arrays)
    bytes += sizeof array + array.name.size() + sizeof(double) * array.data.size();
  for (const auto& event : snapshot.events)
    bytes += sizeof event + event.kind.size() + event.message.size();
  return bytes;
}

}  // namespace

RunRecord::RunRecord(std::optional<store::RunWriter> run, std::function<double()> seconds)
    : run_(std::move(run)), seconds_(std::move(seconds)), owner_(getpid()), written_(seconds_()) {}

store::RunWriter& RunRecord::run() {
  require(run_.has_value(), "the run is written by the first process of the group");
  return *run_;
}

bool RunRecord::is_own() const {
  return getpid() == owner_;
}

void RunRecord::require_own() const {
  require(is_own(),
          "the run is written by process {}, from which this one was forked: it can add nothing",
          owner_);
}

void RunRecord::add(store::Snapshot snapshot) {
  std::list<store::Snapshot> one;
  one.push_back(std::move(snapshot));
  add(std::move(one));
}

void RunRecord::add(std::list<store::Snapshot> snapshots) {
  const std::lock_guard lock(adding_);
  pending_.splice(pending_.end(), snapshots);
}

void RunRecord::set_fact(const std::string& key, const std::string& value) {
  const std::lock_guard lock(adding_);
  pending_facts_[key] = value;
}

double RunRecord::since_written() const {
  const std::lock_guard lock(writing_);
  return seconds_() - written_;
}

std::vector<store::Event> RunRecord::take_unsent() {
  const std::lock_guard lock(writing_);
  return std::exchange(unsent_, {});
}

void RunRecord::hold_pending() {
  std::list<store::Snapshot> pending;
  {
    const std::lock_guard lock(adding_);
    pending.swap(pending_);
  }
  for (const auto& snapshot : pending) {
    if (run_) {
      held_bytes_ += bytes_of(snapshot);
    } else {
      unsent_.insert(unsent_.end(), snapshot.events.begin(), snapshot.events.end());
    }
  }
  if (run_) held_.splice(held_.end(), pending);
}

void RunRecord::drop_oldest() {
  while (held_bytes_ > kMostHeld && !held_.empty()) {
    const auto& oldest = held_.front();
    if (!dropped_) dropped_.emplace(oldest.step, oldest.step);
    dropped_->second = std::max(dropped_->second, oldest.step);
    held_bytes_ -= bytes_of(oldest);
    held_.pop_front();
  }
}

store::Snapshot RunRecord::gap_snapshot() const {
  store::Snapshot gap{.step = dropped_->second};
  gap.events.push_back({"not_written",
                        fmt::format("steps {} to {} are not stored: {}; what was held in memory "
                                    "meanwhile is limited to {} MiB",
                                    dropped_->first,
                                    dropped_->second,
                                    why_,
                                    kMostHeld >> 20U)});
  return gap;
}

// The facts come first: those that are written again are the same, while events would be there
// twice.
void RunRecord::write_to_run(std::span<const store::Snapshot> batch) {
  std::map<std::string, std::string> facts;
  {
    const std::lock_guard lock(adding_);
    facts = pending_facts_;
  }
  for (const auto& [key, value] : facts) run_->set_fact(key, value);
  run_->write(batch);
  const std::lock_guard lock(adding_);
  std::erase_if(pending_facts_, [&](const auto& fact) {
    const auto written = facts.find(fact.first);
    return written != facts.end() && written->second == fact.second;
  });
}

// Nothing to write still finds out whether the run is there.
bool RunRecord::try_to_write() {
  hold_pending();
  if (!run_) return true;
  std::vector<store::Snapshot> batch(held_.begin(), held_.end());
  if (dropped_) batch.insert(batch.begin(), gap_snapshot());
  const bool failed_before = delay_ > 0;
  try {
    try {
      write_to_run(batch);
    } catch (const Error& error) {
      const auto copy = run_->rescued();
      if (copy.empty()) throw;
      run_ = store::RunWriter::append(copy);
      moved_ = error.what();
      moved_reported_ = false;
      write_to_run(batch);
    }
  } catch (const Error& error) {
    why_ = error.what();
    delay_ = failed_before ? std::min(2 * delay_, kLongestDelay) : kFirstDelay;
    next_try_ = seconds_() + delay_;
    drop_oldest();
    return false;
  }
  if (failed_before)
    notice("kappascope: {} is written again{}\n",
           run_->dir().string(),
           dropped_ ? fmt::format(", without steps {} to {}", dropped_->first, dropped_->second)
                    : "; nothing is missing");
  held_.clear();
  held_bytes_ = 0;
  dropped_.reset();
  delay_ = 0;
  written_ = seconds_();
  return true;
}

void RunRecord::write() {
  if (!is_own()) return;
  const std::lock_guard lock(writing_);
  if (delay_ > 0 && seconds_() < next_try_) {
    hold_pending();
    drop_oldest();
    return;
  }
  const bool went_well = delay_ == 0;
  if (!try_to_write() && went_well)
    notice("kappascope: nothing can be stored: {}; training goes on, and it is tried again\n",
           why_);
}

void RunRecord::write_now() {
  require_own();
  const std::lock_guard lock(writing_);
  if (!try_to_write()) throw Error(why_);
}

void RunRecord::report_moved() {
  const std::lock_guard lock(writing_);
  if (moved_.empty() || moved_reported_) return;
  moved_reported_ = true;
  throw Error(moved_);
}

void RunRecord::set_state(const std::string& state) {
  const std::lock_guard lock(writing_);
  if (run_) run_->set_state(state);
}

void RunRecord::make_durable() {
  const std::lock_guard lock(writing_);
  if (run_) run_->make_durable();
}

}  // namespace kappascope::session
