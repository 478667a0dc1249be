// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kappascope/store/record.h"
#include "kappascope/tensor/state.h"

namespace kappascope::session {

/// What was measured here, on its way to the process that writes the run, and back; the step stays
/// behind.
tensor::State state_of(const store::Snapshot& snapshot);
/// Adds it to `to`.
void append(const tensor::State& state, store::Snapshot& to);

}  // namespace kappascope::session
