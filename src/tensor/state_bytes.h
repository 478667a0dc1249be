// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kappascope/tensor/state.h"

namespace kappascope::tensor {

/// For another process of this program, not for a file: from_bytes() trusts what it reads. Tensors
/// arrive on the host.
std::string to_bytes(const State& state);
State from_bytes(const std::string& bytes);

}  // namespace kappascope::tensor
