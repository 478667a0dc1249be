// SPDX-License-Identifier: Apache-2.0
#include "kappascope/session/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "core/memory.h"
#include "core/notice.h"
#include "core/require.h"
#include "core/time.h"
#include "kappascope/core/error.h"
#include "session/alarms/watch.h"
#include "session/failures.h"
#include "session/passes.h"
#include "session/probe_set.h"
#include "session/run_record.h"
#include "tensor/device_work.h"

namespace kappascope::session {
namespace {

store::Scalar number(store::SeriesId name, double value) {
  store::Scalar scalar;
  scalar.name = name;
  scalar.value = value;
  if (!std::isfinite(value)) scalar.status = store::Status::kNonFinite;
  return scalar;
}

}  // namespace

Session::Session(std::optional<store::RunWriter> run,
                 std::vector<ScheduledProbe> probes,
                 SessionOptions options)
    : record_(std::make_unique<RunRecord>(std::move(run), monotonic_seconds)),
      options_(std::move(options)),
      probes_(std::make_unique<ProbeSet>(
          std::move(probes), options_.widths, options_.device, options_.group)),
      passes_(std::make_shared<Passes>(options_.rows)),
      alarms_(std::make_unique<AlarmsWatch>(options_.alarms)),
      started_(monotonic_seconds()) {
  require(options_.rows >= 0, "a step keeps 0 rows (all) or more, got {}", options_.rows);
  const bool writes = !options_.group || options_.group->leads();
  require(record_->writes() == writes,
          "a run is written by the first process of a group, no other");
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

void Session::grant_windows() {
  for (const auto& [kind, message] : probes_->grant_windows(progress(step_ - first_step_))) {
    event(kind, message, step_);
    // One line: another probe's setting is the same.
    if (!std::exchange(budget_reported_, true)) notice("kappascope: {}\n", message);
  }
}

// At the end, as a window may come until then.
void Session::report_nothing_measured() {
  if (!writes() || step_ == first_step_) return;
  const auto why = probes_->why_nothing_measured(progress(step_ - first_step_));
  if (why.empty()) return;
  const auto text = "no window of this run was measured: " + why;
  event("nothing_measured", text);
  notice("kappascope: {}\n", text);
}

// One line for a step.
void Session::report_failures(const store::Snapshot& snapshot) const {
  const auto first = std::ranges::find_if(snapshot.events, is_failure);
  if (!writes() || first == snapshot.events.end()) return;
  const auto more = std::ranges::count_if(snapshot.events, is_failure) - 1;
  notice("kappascope: step {}: {}{}\n",
         snapshot.step,
         first->message,
         more > 0 ? fmt::format(" (and {} more, which the run's events name)", more) : "");
}

bool Session::meets() const {
  return probes_->meets(step_);
}

void Session::leave_group() {
  options_.group.reset();
  probes_->leave_group();
  passes_->clear();
}

Needs Session::needs() const {
  return closed_ || !record_->is_own() ? Needs() : probes_->needs(step_);
}

bool Session::step(std::optional<double> loss,
                   double learning_rate,
                   std::optional<double> gradient_norm,
                   double terms) {
  require(waiting_.empty(), "complete_step() is to be called first, for each step that was begun");
  const bool emitted = begin_step(learning_rate, terms);
  complete_step(loss, gradient_norm);
  return emitted;
}

bool Session::begin_step(double learning_rate, double terms) {
  require(!closed_, "the session is closed");
  if (!record_->is_own()) return false;
  raised_.clear();
  store::Snapshot snapshot{.step = step_};
  if (!std::isnan(learning_rate))
    snapshot.scalars.push_back(number(store::id::kLearningRate, learning_rate));

  // A probe's own passes are no training steps, and a hook on them would keep their graph alive.
  listen({});
  // What the device still has to do of training is no time of the probes.
  if (options_.device && probes_->needs(step_).features) tensor::wait_for(*options_.device);
  const double begin = monotonic_seconds();
  const auto before = progress(step_ - first_step_ + 1);
  observe(terms);
  const bool emitted = emit(snapshot, before);
  probing_ += monotonic_seconds() - begin;
  if (emitted) {
    record_costs(step_ - first_step_ + 1, snapshot);
    probes_->add_rows(snapshot);
  }
  report_failures(snapshot);
  // Completing the step then takes no memory, which may be what ends: its loss is not to be lost.
  snapshot.scalars.reserve(snapshot.scalars.size() + 2);
  std::list<store::Snapshot> one;
  one.push_back(std::move(snapshot));
  waiting_.push_back({std::move(one), emitted});
  ++step_;
  try {
    grant_windows();
    listen(needs());
  } catch (...) {  // no loss will come for it, and what ends the run is told of the step before
    waiting_.pop_back();
    --step_;
    throw;
  }
  return emitted;
}

void Session::complete_step(std::optional<double> loss, std::optional<double> gradient_norm) {
  require(!closed_, "the session is closed");
  if (!record_->is_own()) return;
  require(!waiting_.empty(), "complete_step() was called more often than begin_step()");
  auto [one, emitted] = std::move(waiting_.front());
  waiting_.pop_front();
  auto& snapshot = one.front();
  if (gradient_norm)
    snapshot.scalars.insert(snapshot.scalars.begin(),
                            number(store::id::kGradientNorm, *gradient_norm));
  if (loss) snapshot.scalars.insert(snapshot.scalars.begin(), number(store::id::kLossTrain, *loss));

  const double begin = monotonic_seconds();
  std::exception_ptr failed;  // the step is stored all the same
  try {
    if (writes()) raised_ = alarms_->evaluate(snapshot);
    for (const auto& alarm : raised_) snapshot.events.push_back(event_of(alarm));
  } catch (...) {
    failed = std::current_exception();
  }
  record_->add(std::move(one));
  if (failed) std::rethrow_exception(failed);
  if (emitted || !raised_.empty() || record_->since_written() > options_.flush_seconds)
    record_->write();
  probing_ += monotonic_seconds() - begin;
  record_->report_moved();
  report_alarms();
}

void Session::observe(double terms) {
  std::vector<LayerView> layers;
  const auto attentions = passes_->attentions();
  const auto routers = passes_->routers();
  Failures failures;
  failures.attempt("", [&] { layers = passes_->take(options_.reduction, terms); });
  if (!failures.empty()) passes_->clear();
  probes_->observe({step_, &layers, &attentions, &routers}, failures);
}

bool Session::emit(store::Snapshot& snapshot, const Progress& progress) {
  const auto before = static_cast<std::ptrdiff_t>(snapshot.scalars.size());
  const bool emitted = probes_->emit(progress, *record_, snapshot);
  if (emitted) latest_.assign(snapshot.scalars.begin() + before, snapshot.scalars.end());
  return emitted;
}

void Session::record_costs(std::int64_t steps, store::Snapshot& out) {
  const double training = monotonic_seconds() - started_ - probing_;
  if (training <= 0) return;
  if (steps > costs_at_.steps)
    out.scalars.push_back(
        number(store::id::kStepSeconds,
               (training - costs_at_.training) / static_cast<double>(steps - costs_at_.steps)));
  costs_at_ = {steps, training};
  const auto add_peak = [&](store::SeriesId name, std::optional<std::int64_t> bytes) {
    if (bytes) out.scalars.push_back(number(name, static_cast<double>(*bytes)));
  };
  add_peak(store::id::kMemoryProcess, peak_memory());
  if (options_.device) add_peak(store::id::kMemoryDevice, tensor::peak_memory(*options_.device));
  probes_->add_costs(training, out);
  store::Scalar total;
  total.name = store::id::kCostTotal;
  total.value = probing_ / training;
  out.scalars.push_back(std::move(total));
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

void Session::report_alarms() const {
  if (raised_.empty()) return;
  if (options_.alarms.on_alarm) {
    options_.alarms.on_alarm(raised_);
  } else {
    notice("kappascope: {}\n", in_words(raised_));
  }
}

void Session::flush() {
  record_->write_now();
  record_->report_moved();
}

void Session::close(const std::string& state) {
  if (closed_) return;
  listen({});
  if (!record_->is_own()) {
    closed_ = true;
    return;
  }
  for (auto& waiting : waiting_) record_->add(std::move(waiting.snapshot));
  waiting_.clear();
  if (state == "finished" && first_step_ == 0) report_nothing_measured();
  if (step_ > first_step_) {
    // The last window may lie far back: what probing cost is known at the end.
    store::Snapshot snapshot{.step = step_ - 1};
    record_costs(step_ - first_step_, snapshot);
    record_->add(std::move(snapshot));
  }
  record_->write_now();
  record_->set_state(state);
  for (const auto& event : record_->take_unsent()) notice("kappascope: {}\n", event.message);
  closed_ = true;
  record_->report_moved();
}

}  // namespace kappascope::session
