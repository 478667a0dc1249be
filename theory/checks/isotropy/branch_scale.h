// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "theory/checks/isotropy/branch.h"
#include "theory/checks/isotropy/branch_offset.h"

/// How long an output of the branch's LayerNorm is, before its bias, and what the temperature adds.
namespace kappascope::theory {

/// Bounds of ‖γ ⊙ z‖² of one token.
using LengthStatement = std::function<Enclosure(const BranchCase&, Index token)>;
/// [min γ², max γ²] times k·ĥᵀĥ/(ĥᵀĥ + kε); 0 for ĥ = 0.
Enclosure derived_length(const BranchCase& one, Index token);
Verdict check_length(const LengthStatement& says, const std::vector<BranchCase>& cases);
/// Whether γ has entries of one magnitude, ε = 0, and no token has ĥ = 0.
bool has_even_scale(const BranchCase& one);

/// A layer with σ(t) = 1 that is said to have the outputs of this one.
using WithoutTemperature = std::function<BranchLayer(const BranchLayer&)>;
BranchLayer absorbed_temperature(BranchLayer layer);  ///< W_branch times σ(t)
/// On four tokens of each layer, at a drawn bias of LayerNorm.
Verdict check_temperature(const WithoutTemperature& says, std::uint64_t seed);

}  // namespace kappascope::theory
