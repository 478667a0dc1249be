// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "theory/exact/rational.h"
#include "theory/tools/sizes.h"

namespace kappascope::theory {

using IntegerMatrix = Matrix<std::int64_t>;
using IntegerVector = Vector<std::int64_t>;

Matrix<Rational> exact(const IntegerMatrix& a);

/// A small regression in integers: ½ E‖(φ + b) W + c - t‖² over n equally likely samples.
struct RegressionCase {
  IntegerMatrix phi;     ///< [n, d_ff]
  IntegerMatrix weight;  ///< [d_ff, d_model]
  IntegerVector bias;    ///< [d_ff], the post-gating bias b
  IntegerMatrix target;  ///< [n, d_model]

  [[nodiscard]] Index d_ff() const { return weight.rows(); }
  [[nodiscard]] Index d_model() const { return weight.cols(); }

  [[nodiscard]] Vector<Rational> mu() const;             ///< [d_ff]
  [[nodiscard]] Matrix<Rational> sigma() const;          ///< [d_ff, d_ff], divisor n, centred
  [[nodiscard]] Vector<Rational> shifted_mean() const;   ///< [d_ff] μ + b
  [[nodiscard]] Vector<Rational> mean_residual() const;  ///< [d_model] E[(φ + b) W - t]
  [[nodiscard]] Sizes sizes() const { return {{"d_ff", d_ff()}, {"d_model", d_model()}}; }
  [[nodiscard]] std::string text() const;

  /// 2n times the loss, an integer, at parameters (W row-major, b).
  [[nodiscard]] std::int64_t bias_loss(const IntegerVector& parameters) const;
  /// 2n times ½ E‖φ W + c - t‖², at parameters (W row-major, c).
  [[nodiscard]] std::int64_t intercept_loss(const IntegerVector& parameters) const;
  /// (W row-major, b), and (W row-major, 0).
  [[nodiscard]] IntegerVector bias_parameters() const;
  [[nodiscard]] IntegerVector intercept_parameters() const;
};

/// Hand-sized cases first, then `draws` seeded ones with d_ff and d_model up to 3, wide and tall,
/// W_d of full and of deficient rank. Every case is stationary in b, W E[residual] = 0, which a
/// trained bias is; some have mean residual zero, some only one in the null space of W_d, some
/// b = -μ.
std::vector<RegressionCase> stationary_cases(std::uint64_t seed, int draws);
/// Cases that need not be stationary in b.
std::vector<RegressionCase> unconstrained_cases(std::uint64_t seed, int draws);

/// The Hessian of an integer polynomial of degree <= 5 per direction, exactly: five-point second
/// differences have no remainder there, and polarisation gives the mixed entries.
Matrix<Rational> polynomial_hessian(const std::function<std::int64_t(const IntegerVector&)>& f,
                                    const IntegerVector& at);

}  // namespace kappascope::theory
