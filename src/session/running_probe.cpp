// SPDX-License-Identifier: Apache-2.0
#include "session/running_probe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <utility>
#include <vector>

#include "core/require.h"
#include "kappascope/store/schema/schema.h"
#include "tensor/device_work.h"

namespace kappascope::session {
namespace {

class Charge {  // the time of its life, also where the probe throws
 public:
  Charge(Budget& budget, const std::function<double()>& clock)
      : budget_(budget), clock_(clock), start_(clock()) {}
  ~Charge() { budget_.charge(clock_() - start_); }
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;

 private:
  Budget& budget_;
  const std::function<double()>& clock_;
  double start_;
};

}  // namespace

std::string lines_of(const LayerNames& names) {
  return fmt::format("{}", fmt::join(names, "\n"));
}

LayerNames names_in(const std::string& lines) {
  LayerNames names;
  std::istringstream text(lines);
  for (std::string name; std::getline(text, name);) names.insert(name);
  return names;
}

RunningProbe::RunningProbe(ScheduledProbe scheduled, double speed, std::function<double()> clock)
    : probe_(std::move(scheduled.probe)),
      speed_(probe_->works_on_device() ? speed : 1),
      budget_setting_(std::move(scheduled.budget_setting)),
      budget_part_(scheduled.budget_part),
      schedule_(scheduled.schedule),
      clock_(std::move(clock)),
      budget_(scheduled.schedule.budget, presumed_cost()),
      begin_(probe_->state()) {
  require(schedule_.every >= 1 && schedule_.window >= 1 && schedule_.window <= schedule_.every,
          "schedule of probe {}: the window must lie between 1 and the interval, got window {} "
          "and interval {}",
          probe_->name(),
          schedule_.window,
          schedule_.every);
}

double RunningProbe::presumed_cost() const {
  return probe_->presumed_cost() / speed_;
}

bool RunningProbe::by_layers() const {
  return probe_->needs().features || probe_->needs().output_gradients;
}

bool RunningProbe::opens_window(std::int64_t step) const {
  return schedule_.opens_window(step);
}

Progress RunningProbe::with_ahead(Progress progress) const {
  const auto ahead = std::max<std::int64_t>(0, schedule_.last - progress.step);
  progress.seconds_ahead = static_cast<double>(ahead) * progress.step_seconds;
  return progress;
}

Grant RunningProbe::affordable(const Progress& now, const KnownLayers& known) const {
  Grant grant{.next = next_};
  if (schedule_.budget <= 0) return grant;
  auto progress = with_ahead(now);
  progress.step += schedule_.window - 1;  // where it ends, as the others are counted
  if (!by_layers()) {
    grant.open = budget_.grants(progress, 1, probe_->least_seconds());
    return grant;
  }
  const auto& layers = known.all();
  const double most = budget_.window(progress);
  double work = 0;
  grant.layers.emplace();
  for (std::size_t taken = 0; taken < layers.size(); ++taken) {
    const auto& layer = layers[static_cast<std::size_t>(grant.next) % layers.size()];
    if (taken > 0 && budget_.cost(work + layer.work) > most) break;
    work += layer.work;
    grant.layers->insert(layer.name);
    grant.next = (grant.next + 1) % std::ssize(layers);
    if (!budget_.knows_cost()) break;
  }
  if (layers.empty()) {
    const double all = known.presumed();
    if (all > 0 && presumed_cost() >= 0 && budget_.cost(all) <= most &&
        budget_.grants(progress, all))
      return {.next = next_};
    grant.next = 1;
    work = known.presumed_widest();
  }
  grant.open = budget_.grants(progress, work);
  if (budget_.knows_cost() && grant.layers->size() == layers.size()) grant.layers.reset();
  return grant;
}

std::string RunningProbe::budget_in_words(const Progress& progress,
                                          const KnownLayers& known) const {
  double work = by_layers() ? 0 : 1;
  if (by_layers())
    for (const auto& layer : known.all()) work += layer.work;
  const bool none = by_layers() && known.all().empty();
  if (none) work = known.presumed_widest();
  const double known_cost = budget_.knows_cost() || none ? budget_.cost(work) : budget_.spent();
  const double seconds = std::max(known_cost, probe_->least_seconds());
  const double share = seconds / (static_cast<double>(schedule_.every) * progress.step_seconds);
  const auto budget =
      fmt::format("its budget is {:.3g} % of the training time", 100 * schedule_.budget);
  // At step 0 no step has been timed.
  if (none && (share <= schedule_.budget || progress.step == 0))
    return fmt::format(
        "{}, and the first window is presumed to take {:.2g} s, which {:.2g} s of training have "
        "not "
        "paid for yet; 0 ({}) sets no limit",
        budget,
        seconds,
        progress.training_seconds,
        budget_setting_);
  // What the first windows took is more than the share of a short training.
  if (share <= schedule_.budget)
    return fmt::format(
        "{}, and its windows have taken {:.2g} s of {:.2g} s so far; they come again when training "
        "has paid for them, 0 ({}) sets no limit",
        budget,
        budget_.spent(),
        progress.training_seconds,
        budget_setting_);
  return fmt::format(
      "{}, and a window {}takes about {:.2g} s every {} steps of {:.2g} s; a budget of {:.2g} ({}) "
      "would pay for each, 0 sets no limit",
      budget,
      none          ? "of one layer "
      : by_layers() ? "of all layers "
                    : "",
      seconds,
      schedule_.every,
      progress.step_seconds,
      share / budget_part_,
      budget_setting_);
}

void RunningProbe::open(Grant grant) {
  in_window_ = grant.open;
  if (!in_window_) return;
  turn_ = std::move(grant.layers);
  next_ = grant.next;
  shown_.clear();
  failures_ = {};
  failures_.attempt("", [&] { begin_ = probe_->state(); });
}

bool RunningProbe::observes(std::int64_t step) const {
  return in_window_ && schedule_.observes(step);
}

bool RunningProbe::emits(std::int64_t step) const {
  return in_window_ && schedule_.emits(step);
}

void RunningProbe::observe(const StepView& view) {
  const Charge charge(budget_, clock_);
  if (!failures_.empty()) return;
  failures_.attempt("", [&] {
    if (turn_ && turn_->empty() && !view.layers->empty()) turn_->insert(view.layers->front().name);
    std::vector<LayerView> turn;
    for (const auto& layer : *view.layers) {
      if (turn_ && !turn_->contains(layer.name)) continue;
      shown_.emplace(layer.name, work_of(layer));
      if (turn_) turn.push_back(layer);
    }
    auto seen = view;
    if (turn_) seen.layers = &turn;
    probe_->observe(seen);
    if (!seen.layers->empty()) tensor::wait_for(seen.layers->front().features.device());
    if (probe_->needs().attention && view.attentions != nullptr && !view.attentions->empty()) {
      const auto& input = view.attentions->front().input;
      tensor::wait_for((input.logits.defined() ? input.logits : input.keys).device());
    }
    if (probe_->needs().routers && view.routers != nullptr && !view.routers->empty())
      tensor::wait_for(view.routers->front().input.logits.device());
  });
}

void RunningProbe::fail(const Failures& why) {
  failures_ = why;
}

void RunningProbe::emit(const Progress& progress, tensor::Group* group, store::Snapshot& out) {
  const auto before = std::ssize(out.events);
  {
    const Charge charge(budget_, clock_);
    measure(progress, group, out);
  }
  const bool failed = std::any_of(out.events.begin() + before, out.events.end(), is_failure);
  double work = by_layers() ? 0 : 1;
  if (by_layers())
    for (const auto& [layer, its] : shown_) work += its;
  budget_.close_window(progress.step, failed ? 0 : work);
  in_window_ = false;
  begin_ = {};
  measured_ = true;
}

// What it adds to `out` can be stored, or is an event.
void RunningProbe::measure(const Progress& progress, tensor::Group* group, store::Snapshot& out) {
  const bool whole = group != nullptr ? failures_.in_any(*group).empty() : failures_.empty();
  store::Snapshot mine;
  const bool done = whole && failures_.attempt("", [&] {
    const double seconds =
        budget_.allowance(progress.training_seconds, with_ahead(progress).seconds_ahead);
    if (group != nullptr) {
      probe_->emit_with(*group, seconds, mine);
    } else {
      probe_->emit_within(seconds, mine);
    }
    store::require_in_schema(mine);
  });
  if (done) {
    store::append(std::move(mine), out);
    return;
  }
  out.events.insert(out.events.end(), mine.events.begin(), mine.events.end());
  failures_.attempt("", [&] { probe_->load(begin_); });
  failures_.report(probe_->name(), out);
}

tensor::State RunningProbe::state() const {
  auto out = probe_->state();
  out.set("in_window", std::int64_t{in_window_});
  out.set("next", next_);
  if (turn_) out.set("turn_of", lines_of(*turn_));
  return out;
}

void RunningProbe::load(const tensor::State& state) {
  probe_->load(state);
  in_window_ = state.integer("in_window") != 0;
  if (!state.has("next")) return;  // of a program whose windows looked at all layers or at a part
  next_ = state.integer("next");
  require(next_ >= 0, "the saved state of probe {} has the turn {}", probe_->name(), next_);
  turn_.reset();
  if (state.has("turn_of")) turn_ = names_in(state.text("turn_of"));
}

}  // namespace kappascope::session
