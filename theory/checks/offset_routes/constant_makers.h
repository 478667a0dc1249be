// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "theory/checks/offset_routes/gated_layer.h"
#include "theory/claim.h"

/// Which bias-free gated layers make a constant from RMS-normalised input, ‖x‖² = d.
///
/// SiLU, GELU and ReLU have act(t) - act(-t) = t, so the units (u, g) and (-u, -g) with equal down
/// weights add up to (u·x)(g·x), and with u = g = e_j over all j to ‖x‖² = d. Conversely, the part
/// of Z = Σ w_j (u_j·x) act(g_j·x) that is even in x is ½ Σ w_j (u_j·x)(g_j·x), and the odd part is
/// Σ w_j (u_j·x) h(g_j·x) with the even h(t) = act(t) - t/2. So, for d >= 2, Z = 1 exactly when
///   (i)  Σ w_j sym(u_j g_jᵀ) = (2/d) I, and
///   (ii) Σ w_j u_j = 0 over the units of each g up to sign (ReLU: over each line of g's, with the
///        length of g as a factor): only they are not analytic at g·x = iπ (ReLU: at g·x = 0).
/// By (ii) each line of g's has two units or more and adds to (i) one sym(v gᵀ), which has one
/// positive eigenvalue at most; so it takes d lines, and 2d units. For d = 1, where x = ±1, one
/// unit gives wu(act(g), -act(-g)), two equal numbers only when they are zero.
namespace kappascope::theory {

/// A layer that makes target·‖x‖²/d of every x.
using ConstantBuilder =
    std::function<GatedLayer(Gate gate, const Vector<Rational>& target, Index d)>;
/// The 2d units (e_j, e_j) and (-e_j, -e_j).
GatedLayer mirrored_units(Gate gate, const Vector<Rational>& target, Index d);

/// For ReLU, SiLU and GELU and d up to 4: it has 2d units; on ‖x‖² = d it makes the
/// target; and behind an RMSNorm with ε, x = v/√(ms + ε), it makes target·ms/(ms + ε).
Verdict check_constant_builder(const ConstantBuilder& build, std::uint64_t seed);

/// Whether some W_d (one output) makes Z = 1 at all normalised inputs; nothing: the statement is
/// silent. Only gate, W_u and W_g of the layer count.
using MakesConstant = std::function<std::optional<bool>(const GatedLayer& units)>;
/// No layer does, as published.
std::optional<bool> no_constant(const GatedLayer& units);
/// Fewer than 2d units (with u ≠ 0 and g ≠ 0) cannot; silent on more.
std::optional<bool> too_few_units(const GatedLayer& units);
/// (i) and (ii) have a solution w.
std::optional<bool> balanced(const GatedLayer& units);
/// At 2,000 seeded layers of ReLU and SiLU units with d = 2 and 3, and two with d = 1; many of them
/// are built to make a constant, some of those with a unit removed or turned. Decided by a linear
/// system for a rational W_d over sampled inputs; (i) and (ii) being rational too, a real W_d does
/// no better. Both answers must occur, unless the statement is silent on one.
Verdict check_constant_makers(const MakesConstant& says, std::uint64_t seed);

}  // namespace kappascope::theory
