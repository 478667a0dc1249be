// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kappascope/tensor/state.h"
#include "session/running_probe.h"

namespace kappascope::session {

/// What process 0 of a group decides about the windows that open at a step, for the others, and
/// there; a grant for each probe, in their order.
tensor::State state_of(const std::vector<Grant>& grants);
std::vector<Grant> granted_windows(const tensor::State& state);

}  // namespace kappascope::session
