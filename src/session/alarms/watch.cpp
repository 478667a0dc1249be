// SPDX-License-Identifier: Apache-2.0
#include "session/alarms/watch.h"

#include <fmt/format.h>
#include <torch/types.h>

#include <iterator>
#include <string>
#include <utility>

#include "core/require.h"
#include "session/alarms/rules.h"

namespace kappascope::session {
namespace {

constexpr std::size_t kRecent = 3;  // as many as a line holds

tensor::State state_of(const Memory& memory) {
  tensor::State out;
  out.set("count", std::ssize(memory));
  std::int64_t i = 0;
  for (const auto& [name, numbers] : memory) {
    out.set(fmt::format("name {}", i), name);
    out.set(fmt::format("numbers {}", i), torch::tensor(numbers, torch::kDouble));
    ++i;
  }
  return out;
}

Memory memory_of(const tensor::State& state) {
  Memory out;
  for (std::int64_t i = 0; i < state.integer("count"); ++i) {
    const auto numbers =
        state.tensor(fmt::format("numbers {}", i), torch::kDouble, {-1}).contiguous();
    const double* first = numbers.const_data_ptr<double>();
    out[state.text(fmt::format("name {}", i))] = {first, first + numbers.numel()};
  }
  return out;
}

}  // namespace

std::string in_words(const std::vector<Alarm>& alarms) {
  if (alarms.empty()) return "";
  const auto& first = alarms.front();
  auto text = fmt::format("alarm {} at step {}: {}{}",
                          store::info_of(first.id).name,
                          first.step,
                          first.layer.empty() ? "" : first.layer + ": ",
                          first.message);
  for (std::size_t i = 1; i < alarms.size(); ++i) {
    text += fmt::format("{}{}{}",
                        i == 1 ? "; also " : ", ",
                        store::info_of(alarms[i].id).name,
                        alarms[i].layer.empty() ? "" : " in " + alarms[i].layer);
  }
  return text;
}

store::Event event_of(const Alarm& alarm) {
  return {store::alarm_kind(alarm.id),
          alarm.layer.empty() ? alarm.message : alarm.layer + ": " + alarm.message};
}

AlarmsWatch::AlarmsWatch(const AlarmOptions& options) : rules_(rules_of(options)) {}
AlarmsWatch::~AlarmsWatch() = default;
AlarmsWatch::AlarmsWatch(AlarmsWatch&&) noexcept = default;
AlarmsWatch& AlarmsWatch::operator=(AlarmsWatch&&) noexcept = default;

std::vector<Alarm> AlarmsWatch::evaluate(const store::Snapshot& snapshot) {
  std::vector<Alarm> raised;
  for (const auto& rule : rules_) rule->evaluate(snapshot, recent_, raised);
  recent_.insert(recent_.end(), raised.begin(), raised.end());
  while (recent_.size() > kRecent) recent_.pop_front();
  return raised;
}

tensor::State AlarmsWatch::state() const {
  tensor::State out;
  for (const auto& rule : rules_)
    out.set(std::string(store::info_of(rule->id()).name), state_of(rule->memory()));
  out.set("recent", std::ssize(recent_));
  std::int64_t i = 0;
  for (const auto& alarm : recent_) {
    tensor::State one;
    one.set("name", std::string(store::info_of(alarm.id).name));
    one.set("step", alarm.step);
    one.set("layer", alarm.layer);
    out.set(fmt::format("recent {}", i++), one);
  }
  return out;
}

void AlarmsWatch::load(const tensor::State& state) {
  // A rule that the run was started without begins here.
  for (const auto& rule : rules_) {
    const std::string name(store::info_of(rule->id()).name);
    if (state.has(name)) rule->load(memory_of(state.inner(name)));
  }
  recent_.clear();
  for (std::int64_t i = 0; i < state.integer("recent"); ++i) {
    const auto one = state.inner(fmt::format("recent {}", i));
    const auto id = store::find_alarm(one.text("name"));
    require(id.has_value(), "'{}' is no alarm", one.text("name"));
    recent_.push_back({*id, one.integer("step"), one.text("layer"), ""});
  }
}

}  // namespace kappascope::session
