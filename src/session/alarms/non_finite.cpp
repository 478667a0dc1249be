// SPDX-License-Identifier: Apache-2.0
// Numbers that are none, and what came before them.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "kappascope/store/schema/layer_probes.h"
#include "session/alarms/rules.h"

namespace kappascope::session {
namespace {

namespace id = store::id;

// Remembers by series step and value of the last finite number, and whether it is not finite now;
// by layer, with a "/" behind its name, whether rows are not finite now.
class NonFiniteRule final : public Rule {
 public:
  NonFiniteRule() : Rule(store::AlarmId::kNonFinite, 3) {}

  void evaluate(const store::Snapshot& snapshot,
                const std::deque<Alarm>& before,
                std::vector<Alarm>& out) override {
    const auto raise = [&](const std::string& layer, const std::string& what) {
      out.push_back({id(), snapshot.step, layer, what + "; before it " + in_words(before)});
    };
    for (const auto& [series, what] : kWatched) {
      const auto* scalar = find(snapshot, series);
      if (scalar == nullptr) continue;
      auto& last = memory_[std::string(series.name())];
      if (last.empty()) last = {-1, 0, 0};
      if (std::isfinite(scalar->value)) {
        last = {static_cast<double>(snapshot.step), scalar->value, 0};
      } else if (last[2] == 0) {
        raise("", fmt::format("{} is {}", what, std::isnan(scalar->value) ? "NaN" : "infinite"));
        last[2] = 1;
      }
    }
    for (const auto& scalar : snapshot.scalars) {
      if (!(id::kNonfiniteRows == scalar.name)) continue;
      auto& was = memory_[scalar.layer + "/"];
      if (was.empty()) was = {0, 0, 0};
      const bool is = scalar.value > 0;
      if (is && was[2] == 0)
        raise(scalar.layer,
              fmt::format("{:.0f} rows of features hold NaN or infinity", scalar.value));
      was[2] = is ? 1 : 0;
    }
  }

 private:
  static constexpr std::array<std::pair<store::SeriesId, const char*>, 2> kWatched = {
      {{id::kLossTrain, "the loss"}, {id::kGradientNorm, "the norm of the gradient"}}};

  /// The last finite numbers, and the alarms of the steps before.
  [[nodiscard]] std::string in_words(const std::deque<Alarm>& before) const {
    std::string text;
    for (const auto& [series, what] : kWatched) {
      const auto found = memory_.find(std::string(series.name()));
      if (found == memory_.end() || found->second[0] < 0) continue;
      text += fmt::format("{}{} was {:.4g} at step {:.0f}",
                          text.empty() ? "" : ", ",
                          what,
                          found->second[1],
                          found->second[0]);
    }
    if (text.empty()) text = "no number was finite";
    for (const auto& alarm : before) {
      text += fmt::format(", alarm {} at step {}{}",
                          store::info_of(alarm.id).name,
                          alarm.step,
                          alarm.layer.empty() ? "" : " in " + alarm.layer);
    }
    return text;
  }
};

}  // namespace

std::unique_ptr<Rule> non_finite_rule() {
  return std::make_unique<NonFiniteRule>();
}

}  // namespace kappascope::session
