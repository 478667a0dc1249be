// SPDX-License-Identifier: Apache-2.0
// A number of a layer that changed by more than its interval allows. One that its sample biases
// counts: windows of as many rows share the bias, and their intervals hold it.
#include <fmt/format.h>

#include <cmath>

#include "core/require.h"
#include "session/alarms/rules.h"

namespace kappascope::session {
namespace {

class ChangeRule final : public Rule {
 public:
  ChangeRule(store::AlarmId id, store::SeriesId series, const char* what, ChangeOptions options)
      : Rule(id, 4), series_(series), what_(what), options_(options) {
    require(options.factor >= 1, "a change is a factor of 1 at least, got {}", options.factor);
  }

  void evaluate(const store::Snapshot& snapshot,
                const std::deque<Alarm>& /*before*/,
                std::vector<Alarm>& out) override {
    for (const auto& scalar : snapshot.scalars) {
      // Without an interval nothing is known of what it allows.
      const bool known = scalar.lower && scalar.upper && *scalar.lower < *scalar.upper;
      if (!(series_ == scalar.name) || !known || !store::usable(scalar) ||
          !std::isfinite(scalar.value) || !(scalar.value > 0)) {
        continue;
      }
      // Kept of the last alarm, or of the first measurement.
      const std::vector<double> now = {
          static_cast<double>(snapshot.step), scalar.value, *scalar.lower, *scalar.upper};
      const auto [found, is_first] = memory_.emplace(scalar.layer, now);
      auto& last = found->second;
      if (is_first) continue;
      const double ratio = now[1] / last[1];
      const bool apart = now[2] > last[3] || now[3] < last[2];
      if (!apart || (ratio < options_.factor && 1 / ratio < options_.factor)) continue;
      out.push_back({id(),
                     snapshot.step,
                     scalar.layer,
                     fmt::format("{} is {:.4g} ({:.4g} to {:.4g}), and was {:.4g} ({:.4g} to "
                                 "{:.4g}) at step {:.0f}",
                                 what_,
                                 now[1],
                                 now[2],
                                 now[3],
                                 last[1],
                                 last[2],
                                 last[3],
                                 last[0])});
      last = now;
    }
  }

 private:
  store::SeriesId series_;
  const char* what_;
  ChangeOptions options_;
};

}  // namespace

std::unique_ptr<Rule> change_rule(store::AlarmId id,
                                  store::SeriesId series,
                                  const char* what,
                                  const ChangeOptions& options) {
  return std::make_unique<ChangeRule>(id, series, what, options);
}

}  // namespace kappascope::session
