// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "theory/claim.h"
#include "theory/exact/rational.h"
#include "theory/tools/sizes.h"

/// Gradient descent on ½E‖Δ(x + b_in) - b_out‖², E x = 0, the problem of the minimum-MSE remark.
/// Its Hessian is H = Σ + b_in b_inᵀ per output, and Δ* = b_out b_inᵀ H⁺ is the minimiser of least
/// norm. A step of size η gives Δ_{t+1} - Δ* = (Δ_t - Δ*)(I - ηH), so
/// Δ_t = Δ* + (Δ_0 - Δ*)(I - ηH)^t: for 0 < η < 2/λmax(H) the part of the error on the range of H
/// vanishes, the part of Δ_0 on ker H stays for ever, and Δ* has none there.
namespace kappascope::theory {

/// n equally probable samples of x, with mean zero.
struct OffsetCase {
  Matrix<Rational> x;      ///< [n, d]
  Vector<Rational> b_in;   ///< [d]
  Vector<Rational> b_out;  ///< [m]
  Matrix<Rational> start;  ///< [m, d] Δ_0
  Rational step;           ///< η, below 2/λmax(H)

  [[nodiscard]] Matrix<Rational> hessian() const;     ///< [d, d] H
  [[nodiscard]] Matrix<Rational> least_norm() const;  ///< [m, d] Δ*
  [[nodiscard]] Sizes sizes() const;
  [[nodiscard]] std::string text() const;
};

/// Δ_t, from a formula; the check runs the steps on gradients that are sums over samples.
using Iterate = std::function<Matrix<Rational>(const OffsetCase&, int t)>;
Verdict check_iterates(const Iterate& formula, std::uint64_t seed);
Matrix<Rational> derived_iterate(const OffsetCase& one, int t);

/// The mean over all paths of descent on one drawn sample a step, from a formula. A gradient is
/// affine in Δ and the sample of a step is independent of the steps before, so the mean takes the
/// steps of full gradients, and SGD's averaged iterate comes to where they come.
Verdict check_mean_of_paths(const Iterate& formula, std::uint64_t seed);

/// What a statement says of one case: yes, no, or nothing.
using OffsetPrediction = std::function<std::optional<bool>(const OffsetCase&)>;

/// Whether descent comes to Δ*. Decided on five steps, exactly: the error has no part on ker H,
/// which no step changes, and each step shortens it, or it is zero.
Verdict check_arrival(const OffsetPrediction& says, std::uint64_t seed);
/// Δ_0 vanishes on ker H.
std::optional<bool> starts_off_kernel(const OffsetCase& one);

/// Whether Δ* is Lemma 1's b_out b_inᵀ/‖b_in‖², b_in ≠ 0.
Verdict check_is_exact_fit(const OffsetPrediction& says, std::uint64_t seed);
/// b_out = 0 or Σ b_in = 0.
std::optional<bool> offset_is_undisturbed(const OffsetCase& one);

/// Whether Δ* is at rest under the gradient of every single sample, as it must be for descent on
/// one sample at a time with a constant step to end there.
Verdict check_rest(const OffsetPrediction& says, std::uint64_t seed);
/// One Δ has Δ(x + b_in) = b_out for every sample with x + b_in ≠ 0.
std::optional<bool> one_map_fits_all(const OffsetCase& one);

}  // namespace kappascope::theory
