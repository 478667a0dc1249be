// SPDX-License-Identifier: Apache-2.0
#include "kappascope/session/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/notice.h"
#include "core/printable.h"
#include "core/require.h"
#include "core/time.h"
#include "kappascope/core/error.h"
#include "session/alarms/watch.h"
#include "session/failures.h"
#include "session/granted_windows.h"
#include "session/known_layers.h"
#include "session/passes.h"
#include "session/run_record.h"
#include "session/running_probe.h"
#include "session/snapshot_state.h"
#include "tensor/state_bytes.h"

namespace kappascope::session {

Session::Session(std::optional<store::RunWriter> run,
                 std::vector<ScheduledProbe> probes,
                 SessionOptions options)
    : record_(std::make_unique<RunRecord>(std::move(run), monotonic_seconds)),
      known_(std::make_unique<KnownLayers>(options.widths)),
      options_(std::move(options)),
      passes_(std::make_shared<Passes>(options_.rows)),
      alarms_(std::make_unique<AlarmsWatch>(options_.alarms)),
      started_(monotonic_seconds()) {
  require(options_.rows >= 0, "a step keeps 0 rows (all) or more, got {}", options_.rows);
  const bool writes = !options_.group || options_.group->leads();
  require(record_->writes() == writes,
          "a run is written by the first process of a group, no other");
  for (ScheduledProbe& scheduled : probes) probes_.emplace_back(std::move(scheduled));
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

bool Session::writes() const {
  return record_->writes();
}

store::RunWriter& Session::run() {
  return record_->run();
}

bool Session::is_rescued() const {
  return record_->is_rescued();
}

Progress Session::progress(std::int64_t steps) const {
  const double training = monotonic_seconds() - started_ - probing_;
  return {step_, training, training / static_cast<double>(std::max<std::int64_t>(1, steps))};
}

// Decides at the start of each window whether its probe can be afforded, and which layers are to be
// looked at; in a group, process 0 does for all.
void Session::grant_windows() {
  if (left_) return;
  const auto now = progress(step_ - first_step_);
  std::vector<RunningProbe*> opening;
  std::vector<Grant> granted;
  for (auto& running : probes_) {
    if (!running.opens_window(step_)) continue;
    opening.push_back(&running);
    granted.push_back(running.affordable(now, *known_));
  }
  if (opening.empty()) return;
  if (options_.group) {
    const auto told = options_.group->broadcast_bytes(tensor::to_bytes(state_of(granted)));
    granted = granted_windows(tensor::from_bytes(told));
  }
  for (std::size_t i = 0; i < opening.size(); ++i) {
    const bool open = granted.at(i).open, part = granted[i].layers && !granted[i].layers->empty();
    if (!open || part) tell_budget(*opening[i], now, open);
    opening[i]->open(std::move(granted[i]));
  }
}

// What a budget changes is said once.
void Session::tell_budget(const RunningProbe& running, const Progress& progress, bool open) {
  if (!writes()) return;
  const auto name = running.probe().name();
  const std::string kind = open ? "layers_in_turn" : "probe_skipped";
  if (!told_.insert(fmt::format("{} {}", kind, name)).second) return;
  const auto text = fmt::format("probe {} {} from step {} on: {}",
                                name,
                                open ? "measures the layers in turn" : "leaves out windows",
                                step_.load(),
                                running.budget_in_words(progress, *known_));
  event(kind, text, step_);
  // One line: another probe's setting is the same.
  if (told_.size() == 1) notice("kappascope: {}\n", printable(text));
}

// Said at the end, as one waits for a window until then.
void Session::tell_nothing_measured() {
  const auto measured = [](const RunningProbe& probe) { return probe.has_measured(); };
  if (!writes() || step_ == first_step_ || probes_.empty() ||
      std::ranges::any_of(probes_, measured))
    return;
  const auto earliest = std::ranges::min_element(
      probes_, {}, [](const RunningProbe& probe) { return probe.schedule().first(); });
  const auto first = earliest->schedule().first();
  const auto text = step_ <= first
                        ? fmt::format(
                              "it ended at step {}, before the first window does, "
                              "at step {}; a smaller interval between windows "
                              "measures earlier",
                              step_ - 1,
                              first)
                        : earliest->budget_in_words(progress(step_ - first_step_), *known_);
  event("nothing_measured", "no window of this run was measured: " + text);
  notice("kappascope: no window of this run was measured: {}\n", printable(text));
}

// One line for a step.
void Session::tell_failures(const store::Snapshot& snapshot) const {
  const auto first = std::ranges::find_if(snapshot.events, is_failure);
  if (!writes() || first == snapshot.events.end()) return;
  const auto more = std::ranges::count_if(snapshot.events, is_failure) - 1;
  notice("kappascope: step {}: {}{}\n",
         snapshot.step,
         printable(first->message),
         more > 0 ? fmt::format(" (and {} more, which the run's events name)", more) : "");
}

bool Session::meets() const {
  return options_.group && std::any_of(probes_.begin(), probes_.end(), [&](const auto& running) {
           return running.emits(step_) || running.opens_window(step_ + 1);
         });
}

void Session::leave_group() {
  left_ = true;
  options_.group.reset();
  for (auto& running : probes_) running.open({.open = false});
  passes_->clear();
}

Needs Session::needs() const {
  Needs needs;
  if (closed_ || !record_->is_own()) return needs;
  for (const auto& running : probes_) {
    if (!running.observes(step_)) continue;
    needs.features |= running.probe().needs().features;
    needs.output_gradients |= running.probe().needs().output_gradients;
  }
  return needs;
}

bool Session::step(std::optional<double> loss,
                   double learning_rate,
                   std::optional<double> gradient_norm,
                   double terms) {
  require(!closed_, "the session is closed");
  if (!record_->is_own()) return false;
  store::Snapshot snapshot{.step = step_};
  const auto number = [&](store::SeriesId name, double value) {
    store::Scalar scalar;
    scalar.name = name;
    scalar.value = value;
    if (!std::isfinite(value)) scalar.status = store::Status::kNonFinite;
    snapshot.scalars.push_back(std::move(scalar));
  };
  if (loss) number(store::id::kLossTrain, *loss);
  if (!std::isnan(learning_rate)) number(store::id::kLearningRate, learning_rate);
  if (gradient_norm) number(store::id::kGradientNorm, *gradient_norm);

  // A probe's own passes are no training steps, and a hook on them would keep their graph alive.
  listen({});
  const double begin = monotonic_seconds();
  const auto before = progress(step_ - first_step_ + 1);
  observe(terms);
  const bool emitted = emit(snapshot, before);
  const double probed = monotonic_seconds();
  probing_ += probed - begin;
  if (emitted) record_costs(snapshot);
  tell_failures(snapshot);
  if (writes()) {
    raised_ = alarms_->look(snapshot);
    for (const auto& alarm : raised_) snapshot.events.push_back(event_of(alarm));
  }
  record_->add(std::move(snapshot));
  if (emitted || !raised_.empty() || record_->since_written() > options_.flush_seconds)
    record_->write();
  probing_ += monotonic_seconds() - probed;
  ++step_;
  grant_windows();
  listen(needs());
  record_->tell_moved();
  tell_alarms();
  return emitted;
}

// Shows the step to the probes that look at it; what was captured for them goes with it.
void Session::observe(double terms) {
  std::vector<LayerView> layers;
  Failures failures;
  failures.attempt("", [&] { layers = passes_->take(options_.reduction, terms); });
  if (!failures.empty()) passes_->clear();
  for (const auto& layer : layers) known_->add(layer.name, work_of(layer));
  const StepView view{step_, &layers};
  for (auto& running : probes_) {
    if (!running.observes(step_)) continue;
    if (failures.empty()) {
      running.observe(view);
    } else {
      running.fail(failures);
    }
  }
}

// Whether a window ended here; its probe's results go into the snapshot.
bool Session::emit(store::Snapshot& snapshot, const Progress& progress) {
  const auto before = static_cast<std::ptrdiff_t>(snapshot.scalars.size());
  bool emitted = false;
  for (auto& running : probes_) {
    if (!running.emits(step_)) continue;
    running.emit(progress, options_.group.get(), snapshot);
    emitted = true;
  }
  if (emitted && options_.group) collect(snapshot, before);
  if (emitted) latest_.assign(snapshot.scalars.begin() + before, snapshot.scalars.end());
  return emitted;
}

// Brings what the processes of a group measured together in the one that writes.
void Session::collect(store::Snapshot& snapshot, std::ptrdiff_t first_scalar) {
  auto& group = *options_.group;
  Failures failures;
  if (group.leads()) {
    for (int from = 1; from < group.size(); ++from) {
      failures.attempt("", [&, from] {
        const auto theirs = tensor::from_bytes(group.receive_bytes(from));
        append(theirs.inner("measured"), snapshot);
        known_->add(theirs.inner("layers"));
      });
    }
    failures.tell("results of another process", snapshot);
    return;
  }
  auto mine = snapshot;
  mine.scalars.erase(mine.scalars.begin(), mine.scalars.begin() + first_scalar);
  const auto unsent = record_->take_unsent();
  mine.events.insert(mine.events.begin(), unsent.begin(), unsent.end());
  snapshot.events.clear();
  const auto bytes_of = [&](const store::Snapshot& measured) {
    tensor::State state;
    state.set("measured", state_of(measured));
    state.set("layers", known_->state());
    return tensor::to_bytes(state);
  };
  std::string bytes;
  if (!failures.attempt("", [&] { bytes = bytes_of(mine); })) {
    store::Snapshot lost;
    failures.tell(fmt::format("results of process {}", group.rank()), lost);
    bytes = bytes_of(lost);
  }
  group.send_bytes(bytes, 0);
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
    share(store::id::kCost.of(running.probe().name()), running.spent());
    out.scalars.back().attributes[store::attribute::kBudget] =
        fmt::format("{}", running.schedule().budget);
  }
  share(store::id::kCostTotal, probing_);
}

void Session::record(store::Scalar scalar) {
  record_->require_own();
  store::require_in_schema(scalar);  // here, where the caller is; writing it comes later
  store::Snapshot snapshot{.step = std::max<int64_t>(step_ - 1, 0)};
  snapshot.scalars.push_back(std::move(scalar));
  record_->add(std::move(snapshot));
}

void Session::event(const std::string& kind, const std::string& message, int64_t step) {
  store::Snapshot snapshot{.step = step < 0 ? std::max<int64_t>(step_ - 1, 0) : step};
  snapshot.events.push_back({kind, message});
  record_->add(std::move(snapshot));
}

void Session::fact(const std::string& key, const std::string& value) {
  record_->set_fact(key, value);
}

void Session::outside(const std::function<void()>& work) {
  listen({});
  work();
  listen(needs());
}

void Session::tell_alarms() const {
  if (raised_.empty()) return;
  if (options_.alarms.on_alarm) {
    options_.alarms.on_alarm(raised_);
  } else {
    notice("kappascope: {}\n", printable(in_words(raised_)));
  }
}

void Session::flush() {
  record_->write_now();
  record_->tell_moved();
}

void Session::close(const std::string& state) {
  if (closed_) return;
  listen({});
  if (!record_->is_own()) {
    closed_ = true;
    return;
  }
  if (state == "finished" && first_step_ == 0) tell_nothing_measured();
  if (step_ > first_step_) {
    // The last window may lie far back: what probing cost is known at the end.
    store::Snapshot snapshot{.step = step_ - 1};
    record_costs(snapshot);
    record_->add(std::move(snapshot));
  }
  record_->write_now();
  record_->set_state(state);
  for (const auto& event : record_->take_unsent()) notice("kappascope: {}\n", event.message);
  closed_ = true;
  record_->tell_moved();
}

}  // namespace kappascope::session
