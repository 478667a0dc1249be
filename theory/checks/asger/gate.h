// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "theory/claim.h"
#include "theory/exact/enclosure.h"

/// The gates that a product with a value path can have: σ(g) in a GLU, gσ(g) in SwiGLU, and
/// ASGER's G(g) = σ(βg)(1+2α) - α. What they reach is decided without exponentials: σ takes every
/// value strictly between 0 and 1 once and no other, so a value y of G is taken exactly when
/// (y+α)/(1+2α) is one of those. For SwiGLU, min gσ(g) = -m with m·e^(1+m) = 1: -g/(1+e^-g) >= -m
/// for every g is m(1+e^s) >= s for every s, whose left side less its right is least at e^s = 1/m.
namespace kappascope::theory {

struct AsgerGate {
  Rational alpha, beta;
  [[nodiscard]] std::string text() const;  ///< "α = 1/2, β = 1"
};

/// The paper's gates, α and β positive, its default α = 1/2, β = 1 first.
std::vector<AsgerGate> published_gates(std::uint64_t seed);
/// Any α and β: also negative ones, β = 0 and α = -1/2, where G is constant.
std::vector<AsgerGate> any_gates(std::uint64_t seed);

/// What a gate takes: everything between two values, the two included when closed.
struct GateRange {
  Rational lower, upper;
  bool closed = false;
};
using RangeStatement = std::function<GateRange(const AsgerGate&)>;
/// Open, between -α and 1+α whichever is lower; the point 1/2 when β = 0 or α = -1/2.
GateRange open_range(const AsgerGate& gate);
/// Compares what G takes with the statement at the two ends, a thousandth to either side of them,
/// at seven values between and beyond.
Verdict check_gate_range(const RangeStatement& says, const std::vector<AsgerGate>& gates);

/// What gσ(g) takes: its greatest lower bound lies in `infimum`; nothing above `supremum`, or
/// nothing stated on a side.
struct SiluRange {
  std::optional<Enclosure> infimum;
  std::optional<Rational> supremum;
  bool unbounded = false;  ///< states that there is no upper bound, by gσ(g) >= g/2 for g >= 0
};
/// -m, to six digits, and unbounded.
SiluRange derived_silu_range();
/// At g = 0, ±1/4, ..., ±8 by enclosure, and the infimum by its equation.
Verdict check_silu_range(const SiluRange& says);

/// Whether gσ(g) lies in [0, 1].
using InUnitInterval = std::function<bool(const Rational& g)>;
Verdict check_in_unit_interval(const InUnitInterval& says);

/// Whether G takes values below all of SwiGLU's, for α > 0.
using ReachesLower = std::function<bool(const Rational& alpha)>;
Verdict check_reaches_lower(const ReachesLower& says);

}  // namespace kappascope::theory
