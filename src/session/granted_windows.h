// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kappascope/tensor/state.h"
#include "session/running_probe.h"

namespace kappascope::session {

/// What process 0 of a group decides about the windows that open at a step.
struct GrantedWindows {
  std::vector<std::int64_t> parts;  ///< of each probe (RunningProbe::open), in their order
  LayerPlaces places;
};

/// For the other processes, and there.
tensor::State state_of(const GrantedWindows& windows);
GrantedWindows granted_windows(const tensor::State& state);

}  // namespace kappascope::session
