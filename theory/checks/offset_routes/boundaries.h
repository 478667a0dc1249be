// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "kappascope/theory/claim.h"
#include "theory/checks/offset_routes/gated_layer.h"

/// Where a post-gating bias moves the boundary at which a gate turns, {x : pre-activation = 0}.
/// Two level sets of one function are disjoint, so a boundary, where there is one, moves exactly
/// when b adds a constant other than zero to the pre-activation.
namespace kappascope::theory {

/// A layer with b, and the gates of the layer that reads its output: G' = ZW_g'.
struct TwoLayers {
  GatedLayer first;
  Matrix<Rational> next;  ///< [d_model, d_ff'] W_g'
  [[nodiscard]] std::string text() const;
};

enum class Place { kOwn, kNext };  ///< the gates of the layer that has b, or of the next one
/// What b adds to the pre-activations, one a gate.
using BoundaryShift = std::function<Vector<Rational>(const TwoLayers&, Place)>;
/// Nothing to its own, bW_dW_g' to the next.
Vector<Rational> boundary_shift(const TwoLayers& one, Place place);
/// At 2,500 seeded pairs of layers: pre-activations with b less those without, at several x.
Verdict check_boundary_shift(const BoundaryShift& states, std::uint64_t seed);

/// Whether any boundary moves.
using BoundaryMoves = std::function<bool(const TwoLayers&, Place)>;
bool moves_with_bias(const TwoLayers& one, Place place);  ///< whenever b ≠ 0, as published
bool boundary_moves(const TwoLayers& one, Place place);   ///< next, and bW_dW_g' ≠ 0
/// At the same pairs, for one place; both answers must occur at the next layer.
Verdict check_boundary_moves(const BoundaryMoves& says, Place place, std::uint64_t seed);

}  // namespace kappascope::theory
