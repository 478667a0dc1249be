// SPDX-License-Identifier: Apache-2.0
#include "session/running_probe.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "kappascope/core/require.h"
#include "kappascope/core/time.h"

namespace kappascope::session {
namespace {

class Charge {  // the time of its life, also where the probe throws
 public:
  explicit Charge(Budget& budget) : budget_(budget) {}
  ~Charge() { budget_.charge(monotonic_seconds() - start_); }
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;

 private:
  Budget& budget_;
  double start_ = monotonic_seconds();
};

}  // namespace

RunningProbe::RunningProbe(ScheduledProbe scheduled)
    : probe_(std::move(scheduled.probe)),
      schedule_(scheduled.schedule),
      budget_(scheduled.schedule.budget) {
  require(schedule_.every >= 1 && schedule_.window >= 1 && schedule_.window <= schedule_.every,
          "schedule of probe {}: the window must lie between 1 and the interval, got window {} "
          "and interval {}",
          probe_->name(),
          schedule_.window,
          schedule_.every);
}

std::int64_t RunningProbe::affordable(const Progress& progress, std::int64_t layers) const {
  const bool in_cycle = turn_ + 1 < parts_;
  const bool by_layers = probe_->needs().features || probe_->needs().output_gradients;
  const auto parts = in_cycle || !by_layers ? parts_ : budget_.parts(progress.step_seconds, layers);
  auto budget = budget_;
  budget.set_parts(parts);
  return budget.grants(progress, probe_->least_seconds()) ? parts : 0;
}

void RunningProbe::open(std::int64_t parts) {
  in_window_ = parts > 0;
  if (!in_window_) return;
  turn_ = turn_ + 1 < parts_ ? turn_ + 1 : 0;
  parts_ = parts;
  budget_.set_parts(parts);
}

bool RunningProbe::observes(std::int64_t step) const {
  return in_window_ && schedule_.observes(step);
}

bool RunningProbe::emits(std::int64_t step) const {
  return in_window_ && schedule_.emits(step);
}

void RunningProbe::observe(const StepView& view, const LayerPlaces& places) {
  const Charge charge(budget_);
  if (parts_ == 1) {
    probe_->observe(view);
    return;
  }
  std::vector<LayerView> turn;
  for (const auto& layer : *view.layers) {
    const auto known = places.find(layer.name);
    const auto place = known != places.end() ? known->second : std::ssize(places);
    if (place % parts_ == turn_) turn.push_back(layer);
  }
  auto seen = view;
  seen.layers = &turn;
  probe_->observe(seen);
}

void RunningProbe::emit(const Progress& progress, tensor::Group* group, store::Snapshot& out) {
  {
    const Charge charge(budget_);
    const auto ahead = std::max<std::int64_t>(0, schedule_.last - progress.step);
    const double seconds = budget_.allowance(progress.training_seconds,
                                             static_cast<double>(ahead) * progress.step_seconds);
    if (group != nullptr) {
      probe_->emit_with(*group, seconds, out);
    } else {
      probe_->emit_within(seconds, out);
    }
  }
  budget_.close_window(progress.step);
  in_window_ = false;
}

tensor::State RunningProbe::state() const {
  auto out = probe_->state();
  out.set("in_window", std::int64_t{in_window_});
  out.set("parts", parts_);
  out.set("turn", turn_);
  return out;
}

void RunningProbe::load(const tensor::State& state) {
  probe_->load(state);
  in_window_ = state.integer("in_window") != 0;
  if (!state.has("parts")) return;  // of a program before layers took turns
  const auto parts = state.integer("parts"), turn = state.integer("turn");
  require(parts >= 1 && turn >= 0 && turn < parts,
          "the saved state of probe {} is of turn {} of {}",
          probe_->name(),
          turn,
          parts);
  parts_ = parts;
  turn_ = turn;
  budget_.set_parts(parts);
}

}  // namespace kappascope::session
