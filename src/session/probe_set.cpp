// SPDX-License-Identifier: Apache-2.0
#include "session/probe_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "session/granted_windows.h"
#include "session/run_record.h"
#include "session/snapshot_state.h"
#include "tensor/device_work.h"
#include "tensor/state_bytes.h"

namespace kappascope::session {

ProbeSet::ProbeSet(std::vector<ScheduledProbe> probes,
                   const std::vector<std::int64_t>& widths,
                   std::optional<c10::Device> device,
                   std::shared_ptr<tensor::Group> group)
    : known_(widths), group_(std::move(group)) {
  const bool asked = std::ranges::any_of(probes, [](const auto& probe) {
    return probe.schedule.budget > 0 && probe.probe->presumed_cost() > 0;
  });
  const double speed = asked && device ? tensor::device_speed(*device) : 1;
  for (ScheduledProbe& scheduled : probes) probes_.emplace_back(std::move(scheduled), speed);
}

bool ProbeSet::writes() const {
  return !group_ || group_->leads();
}

std::vector<store::Event> ProbeSet::grant_windows(const Progress& now) {
  std::vector<store::Event> events;
  if (left_) return events;
  std::vector<RunningProbe*> opening;
  std::vector<Grant> granted;
  for (auto& running : probes_) {
    if (!running.opens_window(now.step)) continue;
    opening.push_back(&running);
    granted.push_back(running.affordable(now, known_));
  }
  if (opening.empty()) return events;
  if (group_) {
    const auto bytes = group_->broadcast_bytes(tensor::to_bytes(state_of(granted)));
    granted = granted_windows(tensor::from_bytes(bytes));
  }
  for (std::size_t i = 0; i < opening.size(); ++i) {
    const bool open = granted.at(i).open, part = granted[i].layers && !granted[i].layers->empty();
    const std::string kind = open ? "layers_in_turn" : "probe_skipped";
    const auto name = opening[i]->probe().name();
    if ((!open || part) && writes() && reported_.insert(fmt::format("{} {}", kind, name)).second) {
      events.push_back({kind,
                        fmt::format("probe {} {} from step {} on: {}",
                                    name,
                                    open ? "measures the layers in turn" : "leaves out windows",
                                    now.step,
                                    opening[i]->budget_in_words(now, known_))});
    }
    opening[i]->open(std::move(granted[i]));
  }
  return events;
}

Needs ProbeSet::needs(std::int64_t step) const {
  Needs needs;
  for (const auto& running : probes_) {
    if (!running.observes(step)) continue;
    needs.features |= running.probe().needs().features;
    needs.output_gradients |= running.probe().needs().output_gradients;
    needs.attention |= running.probe().needs().attention;
    needs.gates |= running.probe().needs().gates;
    needs.routers |= running.probe().needs().routers;
  }
  return needs;
}

bool ProbeSet::meets(std::int64_t step) const {
  return group_ && std::ranges::any_of(probes_, [&](const auto& running) {
           return running.emits(step) || running.opens_window(step + 1);
         });
}

void ProbeSet::leave_group() {
  left_ = true;
  group_.reset();
  close_windows();
}

void ProbeSet::close_windows() {
  for (auto& running : probes_) running.open({.open = false});
}

void ProbeSet::observe(const StepView& view, const Failures& failed) {
  std::map<std::string, std::int64_t> rows;  // a layer has a view a pass
  for (const auto& layer : *view.layers) {
    known_.add(layer.name, work_of(layer));
    rows[layer.name] = layer.rows_of_step;
  }
  for (const auto& [name, count] : rows) rows_[name] += count;
  steps_ += rows.empty() ? 0 : 1;
  for (auto& running : probes_) {
    if (!running.observes(view.step)) continue;
    if (failed.empty()) {
      running.observe(view);
    } else {
      running.fail(failed);
    }
  }
}

bool ProbeSet::emit(const Progress& now, RunRecord& record, store::Snapshot& out) {
  const auto first = static_cast<std::ptrdiff_t>(out.scalars.size());
  bool emitted = false;
  for (auto& running : probes_) {
    if (!running.emits(now.step)) continue;
    running.emit(now, group_.get(), out);
    emitted = true;
  }
  if (emitted && group_) collect(first, record, out);
  return emitted;
}

// Sends to process 0 what this one measured, or receives it there.
void ProbeSet::collect(std::ptrdiff_t first_scalar, RunRecord& record, store::Snapshot& out) {
  Failures failures;
  if (group_->leads()) {
    for (int from = 1; from < group_->size(); ++from) {
      failures.attempt("", [&, from] {
        const auto theirs = tensor::from_bytes(group_->receive_bytes(from));
        append(theirs.inner("measured"), out);
        known_.add(theirs.inner("layers"));
        const auto rows = theirs.inner("rows");
        for (const auto& [name, text] : rows.texts()) rows_[name] += rows.integer(name);
      });
    }
    failures.report("results of another process", out);
    return;
  }
  auto mine = out;
  mine.scalars.erase(mine.scalars.begin(), mine.scalars.begin() + first_scalar);
  const auto unsent = record.take_unsent();
  mine.events.insert(mine.events.begin(), unsent.begin(), unsent.end());
  out.events.clear();
  const auto bytes_of = [&](const store::Snapshot& measured) {
    tensor::State state;
    state.set("measured", state_of(measured));
    state.set("layers", known_.state());
    tensor::State rows;
    for (const auto& [name, count] : rows_) rows.set(name, count);
    state.set("rows", rows);
    return tensor::to_bytes(state);
  };
  std::string bytes;
  if (!failures.attempt("", [&] { bytes = bytes_of(mine); })) {
    store::Snapshot lost;
    failures.report(fmt::format("results of process {}", group_->rank()), lost);
    bytes = bytes_of(lost);
  }
  group_->send_bytes(bytes, 0);
}

void ProbeSet::add_rows(store::Snapshot& out) {
  const auto rows = std::exchange(rows_, {});
  const auto steps = static_cast<double>(std::exchange(steps_, 0));
  if (rows.empty() || steps == 0) return;
  const auto count_of = [&](const std::string& layer) {
    const auto found = rows.find(layer);
    return found == rows.end() ? 0.0 : static_cast<double>(found->second);
  };
  double most = 0, least = std::numeric_limits<double>::infinity();
  for (const auto& layer : known_.all()) {
    most = std::max(most, count_of(layer.name));
    least = std::min(least, count_of(layer.name));
  }
  const auto add = [&](store::SeriesId name, const std::string& layer, double count) {
    out.scalars.push_back({.name = name, .layer = layer, .value = count / steps, .n = count});
  };
  add(store::id::kStepRows, "", most);
  if (least == most) return;
  for (const auto& layer : known_.all())
    add(store::id::kLayerRows, layer.name, count_of(layer.name));
}

void ProbeSet::add_costs(double training, store::Snapshot& out) const {
  for (const auto& running : probes_) {
    store::Scalar scalar;
    scalar.name = store::id::kCost.of(running.probe().name());
    scalar.value = running.spent() / training;
    scalar.attributes[store::attribute::kBudget] = fmt::format("{}", running.schedule().budget);
    out.scalars.push_back(std::move(scalar));
  }
}

std::string ProbeSet::why_nothing_measured(const Progress& now) const {
  const auto measured = [](const RunningProbe& probe) { return probe.has_measured(); };
  if (probes_.empty() || std::ranges::any_of(probes_, measured)) return "";
  const auto earliest = std::ranges::min_element(
      probes_, {}, [](const RunningProbe& probe) { return probe.schedule().first(); });
  const auto first = earliest->schedule().first();
  if (now.step > first) return earliest->budget_in_words(now, known_);
  return fmt::format(
      "it ended at step {}, before the first window does, at step {}; a smaller interval between "
      "windows measures earlier",
      now.step - 1,
      first);
}

void ProbeSet::add_state(tensor::State& out) const {
  for (const auto& running : probes_) out.set(std::string(running.probe().name()), running.state());
}

void ProbeSet::load(const tensor::State& state) {
  for (auto& running : probes_) {
    const std::string name(running.probe().name());
    if (state.has(name)) running.load(state.inner(name));
  }
}

}  // namespace kappascope::session
