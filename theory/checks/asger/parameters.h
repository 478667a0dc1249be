// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "theory/claim.h"
#include "theory/exact/rational.h"

/// Counting the parameters of the matrices that are printed for ASGER against the standard gated
/// layer, W_g, W_u, W_d of d·f: 3df + 2f² against 3df.
namespace kappascope::theory {

/// How many parameters the matrices printed for ASGER have, at width f: W_g, W_u, W_d of d·f and
/// W_s, V_s of f·f; the standard gated layer has the first three.
using ParameterCount = std::function<std::int64_t(std::int64_t d, std::int64_t f)>;
struct Widths {
  std::int64_t model = 0, feedforward = 0;
};
Verdict check_parameter_count(const ParameterCount& says, const std::vector<Widths>& widths);

/// By how many parameters ASGER misses those of the standard layer of width `feedforward`, at the
/// whole width that suits it best; zero: balanced.
using SmallestMiss = std::function<std::int64_t(const Widths&)>;
/// From f* = (√(9d²+24dF) - 3d)/4, the root of 3df + 2f² = 3dF, and the whole widths around it.
std::int64_t derived_miss(const Widths& standard);
/// Decided by trying every width.
Verdict check_balance(const SmallestMiss& says, const std::vector<Widths>& widths);

/// The best width misses the standard count by at most `share` of it.
Verdict check_nearly_balanced(const Rational& share, const std::vector<Widths>& widths);

std::vector<Widths> small_widths();  ///< d = 1..40, F = 1..60
/// d = 768, F = 3072: the 134M transformer of 12 layers.
std::vector<Widths> transformer_widths();

}  // namespace kappascope::theory
