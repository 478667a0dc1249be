// SPDX-License-Identifier: Apache-2.0
/// @file
/// The alarms that a watched run may raise, each named once. An alarm is an event of the store, of
/// the kind "alarm/NAME"; session/alarms.h has the rules.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kappascope::store {

enum class AlarmId : std::uint8_t {
  kKappa,          ///< κ of a layer's W_d block changed
  kEffectiveRank,  ///< so did the effective rank of its features
  kSharpness,      ///< the optimiser sees a sharpness above its limit
  kGradientNorm,   ///< a spike of the gradient's norm
  kGradientNoise,  ///< the batch is small against the critical one
  kDeadUnits,      ///< features that are identically zero
  kBfloat16,       ///< features that bfloat16 cannot hold
  kNonFinite,      ///< a loss, gradient or feature that is no number
};

/// What an alarm has been found to be, on stored trainings with spikes of the loss and without
/// (experiments/ALARMS.md has the numbers).
enum class AlarmRole : std::uint8_t {
  kEarlyWarning,  ///< comes before a spike more often than the plain rules do: on the loss that
                  ///< rose by two deviations, and on the gradient's norm
  kDescription,   ///< says what is, and nothing of what comes
};

struct AlarmInfo {
  AlarmId id{};
  std::string_view name;     ///< "kappa"
  std::string_view meaning;  ///< when it is raised, by its defaults
  AlarmRole role = AlarmRole::kDescription;
};

/// All of them, in the order of AlarmId.
const std::array<AlarmInfo, 8>& alarms();
const AlarmInfo& info_of(AlarmId id);
/// "early warning" or "description".
std::string_view to_string(AlarmRole role);
/// The alarm of that name.
std::optional<AlarmId> find_alarm(std::string_view name);

/// "alarm/kappa".
std::string alarm_kind(AlarmId id);
/// The alarm that an event of this kind is; nothing for another event, or one of a newer version.
std::optional<AlarmId> alarm_of_kind(std::string_view kind);

}  // namespace kappascope::store
