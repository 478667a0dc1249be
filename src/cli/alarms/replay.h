// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "kappascope/store/run_reader.h"
#include "kappascope/study/warnings.h"

namespace kappascope::cli {

/// Before so many steps nothing is usual yet, so no spike can be told.
inline constexpr std::int64_t kFirstTold = 50;

/// The rules that anybody has: robust deviations above the 50 calm values before.
inline constexpr const char* kLossRule = "loss rose by 2 deviations";
inline constexpr const char* kNormRule = "gradient norm rose by 2 deviations";
/// The alarm of κ at any change that its intervals do not allow.
inline constexpr const char* kAnyKappaRule = "kappa, any change beyond its interval";

/// The alarms that a stored run would have raised, by today's rules with their defaults; the plain
/// rules beside them; and the spikes of its loss. Steps are counted from kFirstTold.
study::WatchedTraining replayed(const store::RunReader& run);

}  // namespace kappascope::cli
