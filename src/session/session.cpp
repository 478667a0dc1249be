// SPDX-License-Identifier: Apache-2.0
#include "kappascope/session/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kappascope/core/error.h"
#include "kappascope/core/notice.h"
#include "kappascope/core/require.h"
#include "kappascope/core/time.h"
#include "kappascope/session/passes.h"
#include "kappascope/tensor/state_bytes.h"
#include "session/snapshot_state.h"

namespace kappascope::session {

struct Session::Running {
  std::unique_ptr<Probe> probe;
  Schedule schedule;
  Budget budget;
  bool in_window = false;
  bool told = false;  // that windows are left out
};

Session::Session(std::optional<store::RunWriter> run,
                 std::vector<ScheduledProbe> probes,
                 SessionOptions options)
    : run_(std::move(run)),
      options_(std::move(options)),
      passes_(std::make_shared<Passes>()),
      started_(monotonic_seconds()),
      flushed_(started_) {
  const bool writes = !options_.group || options_.group->leads();
  require(run_.has_value() == writes, "a run is written by the first process of a group, no other");
  for (ScheduledProbe& scheduled : probes) {
    auto& [probe, schedule] = scheduled;
    require(schedule.every >= 1 && schedule.window >= 1 && schedule.window <= schedule.every,
            "schedule of probe {}: the window must lie between 1 and the interval, got window {} "
            "and interval {}",
            probe->name(),
            schedule.window,
            schedule.every);
    probes_.push_back({std::move(scheduled.probe), schedule, Budget(schedule.budget)});
  }
  grant_windows();
}

Session::~Session() {
  if (closed_) return;
  try {
    close("interrupted");
  } catch (const std::exception& error) {
    notice("kappascope: the run was not closed: {}\n", error.what());
  }
}

// Decides at the start of each window whether its probe can be afforded; in a group, process 0 does
// for all.
void Session::grant_windows() {
  const double training = monotonic_seconds() - started_ - probing_;
  std::vector<Running*> opening;
  std::string granted;
  for (auto& running : probes_) {
    if (!running.schedule.opens_window(step_)) continue;
    opening.push_back(&running);
    granted += running.budget.grants(training, running.probe->least_seconds()) ? '1' : '0';
  }
  if (options_.group && !opening.empty()) granted = options_.group->broadcast_bytes(granted);
  for (std::size_t i = 0; i < opening.size(); ++i) {
    auto& running = *opening[i];
    running.in_window = granted.at(i) == '1';
    if (!running.in_window && !running.told && run_) {
      running.told = true;
      event(
          "probe_skipped",
          fmt::format(
              "probe {} skips windows from step {} on: its budget is {:.3g} % of the training time",
              running.probe->name(),
              step_,
              100 * running.schedule.budget));
    }
  }
}

Needs Session::needs() const {
  Needs needs;
  if (closed_) return needs;
  for (const auto& running : probes_) {
    if (!running.in_window || !running.schedule.observes(step_)) continue;
    needs.features |= running.probe->needs().features;
    needs.output_gradients |= running.probe->needs().output_gradients;
  }
  return needs;
}

bool Session::step(double loss,
                   double learning_rate,
                   std::optional<double> gradient_norm,
                   double terms) {
  require(!closed_, "the session is closed");
  auto& snapshot = pending_.emplace_back();
  snapshot.step = step_;
  const auto number = [&](store::SeriesId name, double value) {
    store::Scalar scalar;
    scalar.name = name;
    scalar.value = value;
    if (!std::isfinite(value)) scalar.status = store::Status::kNonFinite;
    snapshot.scalars.push_back(std::move(scalar));
  };
  number(store::id::kLossTrain, loss);
  if (!std::isnan(learning_rate)) number(store::id::kLearningRate, learning_rate);
  if (gradient_norm) number(store::id::kGradientNorm, *gradient_norm);

  // A probe's own passes are no training steps, and a hook on them would keep their graph alive.
  listen({});
  const double begin = monotonic_seconds();
  observe(loss, learning_rate, terms);
  const bool emitted = emit(snapshot, begin - started_ - probing_);
  const double probed = monotonic_seconds();
  probing_ += probed - begin;
  if (emitted) record_costs(snapshot);
  if (emitted || probed - flushed_ > options_.flush_seconds) write_pending();
  probing_ += monotonic_seconds() - probed;
  ++step_;
  grant_windows();
  listen(needs());
  tell_rescue();
  return emitted;
}

// Shows the step to the probes that look at it; what was captured for them goes with it.
void Session::observe(double loss, double learning_rate, double terms) {
  const auto layers = passes_->take(options_.reduction, terms);
  const StepView view{step_, loss, learning_rate, &layers};
  for (auto& running : probes_) {
    if (!running.in_window || !running.schedule.observes(step_)) continue;
    const double start = monotonic_seconds();
    running.probe->observe(view);
    running.budget.charge(monotonic_seconds() - start);
  }
}

// Whether a window ended here; its probe's results go into the snapshot.
bool Session::emit(store::Snapshot& snapshot, double training_seconds) {
  const double a_step = training_seconds / static_cast<double>(step_ - first_step_ + 1);
  const auto before = static_cast<std::ptrdiff_t>(snapshot.scalars.size());
  bool emitted = false;
  for (auto& running : probes_) {
    if (!running.in_window || !running.schedule.emits(step_)) continue;
    const double start = monotonic_seconds();
    const auto ahead = static_cast<double>(std::max<int64_t>(0, running.schedule.last - step_));
    const double seconds = running.budget.allowance(training_seconds, ahead * a_step);
    if (options_.group) {
      running.probe->emit_with(*options_.group, seconds, snapshot);
    } else {
      running.probe->emit_within(seconds, snapshot);
    }
    running.budget.charge(monotonic_seconds() - start);
    running.budget.close_window();
    running.in_window = false;
    emitted = true;
  }
  if (emitted && options_.group) collect(snapshot, before);
  if (emitted) latest_.assign(snapshot.scalars.begin() + before, snapshot.scalars.end());
  return emitted;
}

// Brings what the processes of a group measured together in the one that writes.
void Session::collect(store::Snapshot& snapshot, std::ptrdiff_t first_scalar) {
  auto& group = *options_.group;
  if (group.leads()) {
    for (int from = 1; from < group.size(); ++from)
      append(tensor::from_bytes(group.receive_bytes(from)), snapshot);
    return;
  }
  auto mine = snapshot;
  mine.scalars.erase(mine.scalars.begin(), mine.scalars.begin() + first_scalar);
  mine.events.insert(mine.events.begin(), unsent_.begin(), unsent_.end());
  unsent_.clear();
  snapshot.events.clear();
  group.send_bytes(tensor::to_bytes(state_of(mine)), 0);
}

void Session::record_costs(store::Snapshot& out) const {
  const double training = monotonic_seconds() - started_ - probing_;
  if (training <= 0) return;
  const auto share = [&](std::string name, double seconds) {
    store::Scalar scalar;
    scalar.name = std::move(name);
    scalar.value = seconds / training;
    out.scalars.push_back(std::move(scalar));
  };
  for (const auto& running : probes_) {
    share(store::id::kCost.of(running.probe->name()), running.budget.spent());
    out.scalars.back().attributes[store::attribute::kBudget] =
        fmt::format("{}", running.schedule.budget);
  }
  share(store::id::kCostTotal, probing_);
}

store::RunWriter& Session::run() {
  require(run_.has_value(), "the run is written by the first process of the group");
  return *run_;
}

void Session::record(store::Scalar scalar) {
  store::require_in_schema(scalar);  // here, where the caller is; writing it comes later
  auto& snapshot = pending_.emplace_back();
  snapshot.step = std::max<int64_t>(step_ - 1, 0);
  snapshot.scalars.push_back(std::move(scalar));
}

void Session::event(const std::string& kind, const std::string& message, int64_t step) {
  auto& snapshot = pending_.emplace_back();
  snapshot.step = step < 0 ? step_ : step;
  snapshot.events.push_back({kind, message});
}

void Session::outside(const std::function<void()>& work) {
  listen({});
  work();
  listen(needs());
}

// Nothing to write still finds out whether the run is there.
void Session::write_pending() {
  if (!run_) {
    for (const auto& snapshot : pending_)
      unsent_.insert(unsent_.end(), snapshot.events.begin(), snapshot.events.end());
    pending_.clear();
    return;
  }
  try {
    run_->write(pending_);
  } catch (const Error& error) {
    const auto copy = run_->rescued();
    if (copy.empty()) throw;
    run_ = store::RunWriter::append(copy);
    lost_ = error.what();
    told_rescue_ = false;
    run_->write(pending_);
  }
  pending_.clear();
  flushed_ = monotonic_seconds();
}

void Session::tell_rescue() {
  if (lost_.empty() || told_rescue_) return;
  told_rescue_ = true;
  throw Error(lost_);
}

void Session::flush() {
  write_pending();
  tell_rescue();
}

void Session::close(const std::string& state) {
  if (closed_) return;
  listen({});
  if (step_ > first_step_) {
    // The last window may lie far back: what probing cost is known at the end.
    auto& snapshot = pending_.emplace_back();
    snapshot.step = step_ - 1;
    record_costs(snapshot);
  }
  write_pending();
  if (run_) run_->set_state(state);
  for (const auto& event : unsent_) notice("kappascope: {}\n", event.message);
  unsent_.clear();
  closed_ = true;
  tell_rescue();
}

tensor::State Session::state() {
  require(!options_.group, "a session of several processes cannot be saved");
  require(passes_->empty(), "a session is saved between two steps, not within one");
  flush();
  // Never ahead of the store: training goes on from the saved state, and would leave a gap there.
  run_->make_durable();
  tensor::State out;
  out.set("step", step_);
  for (const auto& running : probes_) {
    auto inner = running.probe->state();
    inner.set("in_window", std::int64_t{running.in_window});
    out.set(std::string(running.probe->name()), inner);
  }
  return out;
}

void Session::load(const tensor::State& state) {
  step_ = first_step_ = state.integer("step");
  require(step_ >= 0, "the saved state is of step {}", step_);
  for (auto& running : probes_) {
    const std::string name(running.probe->name());
    require(state.has(name),
            "the saved state holds no state of probe {}: resume with the probes that the run was "
            "started with",
            name);
    const auto inner = state.inner(name);
    running.probe->load(inner);
    running.in_window = inner.integer("in_window") != 0;
  }
  listen(needs());
}

}  // namespace kappascope::session
