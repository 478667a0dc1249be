// SPDX-License-Identifier: Apache-2.0
#include "kappascope/store/schema/alarms.h"

#include <algorithm>

namespace kappascope::store {
namespace {

constexpr std::string_view kPrefix = "alarm/";

}  // namespace

const std::array<AlarmInfo, 8>& alarms() {
  using enum AlarmId;
  static constexpr std::array<AlarmInfo, 8> kAlarms = {{
      {kKappa, "kappa", "κ of a W_d block changed by a factor of 2 and more than its intervals"},
      {kEffectiveRank,
       "effective_rank",
       "the effective rank of a layer's features changed by a quarter and more than its intervals"},
      {kSharpness,
       "sharpness",
       "the sharpness that the optimiser sees was above its stability limit in 3 measurements"},
      {kGradientNorm,
       "gradient_norm",
       "the norm of the gradient is 3 times the usual one and far above all before it: of healthy "
       "runs of "
       "5,000 steps fewer than 1 in 100 raises it"},
      {kGradientNoise,
       "gradient_noise",
       "the critical batch of a W_d block is 10 times the batch: its steps are mostly noise"},
      {kDeadUnits, "dead_units", "more features of a layer are identically zero than before"},
      {kBfloat16, "bfloat16", "more features of a layer lie outside of what bfloat16 can hold"},
      {kNonFinite, "non_finite", "a loss, a gradient or a feature is NaN or infinite"},
  }};
  return kAlarms;
}

const AlarmInfo& info_of(AlarmId id) {
  return alarms().at(static_cast<std::size_t>(id));
}

std::string_view to_string(AlarmRole role) {
  return role == AlarmRole::kEarlyWarning ? "early warning" : "description";
}

std::optional<AlarmId> find_alarm(std::string_view name) {
  const auto found = std::ranges::find(alarms(), name, &AlarmInfo::name);
  return found == alarms().end() ? std::nullopt : std::optional(found->id);
}

std::string alarm_kind(AlarmId id) {
  return std::string(kPrefix).append(info_of(id).name);
}

std::optional<AlarmId> alarm_of_kind(std::string_view kind) {
  if (!kind.starts_with(kPrefix)) return std::nullopt;
  return find_alarm(kind.substr(kPrefix.size()));
}

}  // namespace kappascope::store
