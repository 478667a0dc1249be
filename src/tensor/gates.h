// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace kappascope::tensor {

/// Rows of a pass that are looked at, at most.
inline constexpr std::int64_t kGateRows = 256;

/// Some of what enters the activation of a gate in one pass.
struct GateInputs {
  at::Tensor values;  ///< [sequences, tokens, d]
  at::Tensor mask;    ///< [sequences, tokens] bool: rows that count; undefined: all
};

/// A copy of at most kGateRows rows of g [..., tokens, d], evenly from at most 16 sequences, which
/// are evenly from all; rows of g [n, d] are a sequence each. `mask`: of g's rows, or undefined.
GateInputs sample_gates(const at::Tensor& g, const at::Tensor& mask);

/// What some rows show of the gates of a layer. A row with a number that is not finite is left out.
struct GateCounts {
  at::Tensor open;       ///< [d] double: rows in which the input is above 0
  at::Tensor sequences;  ///< [n, 3] double: rows; their values above 0; those beyond ±kSaturated
};

/// SiLU multiplies by σ(4) = 0.982 at this input, and by 0.018 at minus it; GELU by more and less.
inline constexpr double kSaturated = 4;

/// On the host; the sums are taken where the values are. Cost: some passes over them.
GateCounts count_gates(const GateInputs& inputs);

}  // namespace kappascope::tensor
