// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "theory/checks/offset_routes/gated_layer.h"
#include "theory/claim.h"

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

/// A change of the input, and what becomes of it: softened where the output changes less with b
/// than without. Two ReLU layers, every number a fraction.
struct Perturbation {
  GatedLayer first;           ///< with b
  GatedLayer second;          ///< reads its output; without a bias
  Vector<Rational> from, to;  ///< [d] the input before and after
  Rational with, without;     ///< |changes| of the second output, added up; stated
  [[nodiscard]] std::string text() const;
};
/// |Z(to) - Z(from)| of the first layer alone, added up over outputs, from the same with b = 0.
using OwnChange = std::function<Rational(const Rational& without)>;
/// At 1,500 seeded layers and pairs of inputs.
Verdict check_own_change(const OwnChange& says, std::uint64_t seed);
/// x from 1 to 2 through one unit and another: 15 becomes 21 with b = 1 and 9 with b = -1.
std::vector<Perturbation> perturbations();
Verdict check_perturbations(const std::vector<Perturbation>& says);
/// Whether b softens; nothing where the statement is silent.
using Softens = std::function<std::optional<bool>(const Perturbation&)>;
/// At perturbations() and 1,500 seeded ones.
Verdict check_softens(const Softens& says, std::uint64_t seed);

}  // namespace kappascope::theory
