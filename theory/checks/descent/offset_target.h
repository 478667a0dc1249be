// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "theory/checks/proposition1/gram_cases.h"
#include "theory/claim.h"

/// Gradient descent towards a constant, the offset target T = 1, from W = 0 and c = 0. With a free
/// intercept the minimum is W = 0, c = 1, with loss zero. With J = [Σ+μμᵀ, μ; μᵀ, 1], the error
/// before the first step is e = (0, 1), and the excess loss after k steps of size η, as a share of
/// the first one, is eᵀJ(I - ηJ)^{2k}e. In J's eigenbasis it is a mean of λ(1 - ηλ)^{2k} with
/// weights that sum to one, and for 0 < ηλ <= 1 that is at most 1/(η(2k+1)), whatever the small
/// eigenvalues are. Without an intercept the minimum is w = (Σ+μμᵀ)⁻¹μ and the excess loss is
/// ½μᵀH⁻¹(I - ηH)^{2k}μ, H = Σ+μμᵀ, whose share is that of the slowest direction that μ has.
namespace kappascope::theory {

/// A bound of the share after k steps of size η <= 1/λmax(J).
using ShareBound = std::function<Rational(const Rational& eta, int k)>;
Rational derived_share_bound(const Rational& eta, int k);  ///< 1/(η(2k+1))
/// With the intercept, on the small cases of gram_cases() (Σ >= 0) and an eighth of the others,
/// η = 1/tr J, after 0, 1, 2, 4 and 8 steps. Exact.
Verdict check_share_bound(const ShareBound& bound, std::uint64_t seed);

/// A moment pair, and how many steps at 1/λmax bring the excess loss to 1 % of the first one.
struct OffsetTarget {
  Matrix<Rational> sigma;  ///< Σ > 0
  Vector<Rational> mu;     ///< μ ≠ 0
  int with = 0, without = 0;
};
/// Σ = diag(1, 1/1000), μ = (0, 3/100), where the intercept saves 1,210 steps of 1,211; and Σ = 1,
/// μ = 1, where it costs some.
std::vector<OffsetTarget> offset_targets();
/// The steps are counted with numbers between fractions: 1/λmax is one below it by 1e-9 of it.
Verdict check_offset_steps(const std::vector<OffsetTarget>& says);

}  // namespace kappascope::theory
