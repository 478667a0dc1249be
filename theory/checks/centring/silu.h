// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "theory/claim.h"
#include "theory/exact/enclosure.h"

/// How steep silu(x) = xσ(x) is, and where it rises. Its slope σ(x)(1 + x(1-σ(x))) is
/// e^x(1 + x + e^x)/(1 + e^x)², whose sign is that of 1 + x + e^x, a rising function: silu falls
/// before one point x0 and rises after it. The slope's own derivative is σ(1-σ)(2 - x tanh(x/2)),
/// and x tanh(x/2) is even and rises with |x|; the slopes at x and -x add up to one. So the slope
/// is steepest at the root x1 > 0 of x tanh(x/2) = 2, and shallowest, one minus that, at -x1. Both
/// roots are enclosed by signs of rational bounds, and nothing rests on rounding.
namespace kappascope::theory {

/// silu'(x), for |x| <= 12.
Enclosure silu_slope(const Rational& x);

/// The smallest L with |silu(x) - silu(y)| <= L|x - y|: the slope at x1. To five decimals.
Enclosure silu_lipschitz_constant();

/// The statement that L lies in `stated`. Refuted by a pair of points when L is above it. All pairs
/// of neighbours on grids of whole and half numbers are compared with stated.upper too.
Verdict check_lipschitz(const Enclosure& stated);

/// The statement that silu falls up to a point in `turn` and rises from there; or, without `turn`,
/// that it rises everywhere. Refuted by a pair of points.
Verdict check_rises(const std::optional<Enclosure>& turn);

}  // namespace kappascope::theory
