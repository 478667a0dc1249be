// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "theory/exact/rational.h"
#include "theory/tools/sizes.h"

namespace kappascope::theory {

/// A linear readout Z = (φ + b)W under the loss ½E‖Z - T‖², over n equally probable samples.
struct ReadoutCase {
  Matrix<Rational> phi;     ///< [n, d]
  Matrix<Rational> weight;  ///< [d, m]
  Vector<Rational> bias;    ///< [d]
  Matrix<Rational> target;  ///< [n, m]

  [[nodiscard]] Vector<Rational> mu() const;           ///< [d]
  [[nodiscard]] Matrix<Rational> sigma() const;        ///< [d, d] divisor n, centred
  [[nodiscard]] Vector<Rational> mean_target() const;  ///< [m]
  [[nodiscard]] Vector<Rational> intercept() const;    ///< [m] h = E T - μW
  [[nodiscard]] Matrix<Rational> residuals() const;    ///< [n, m] (φ + b)W - T
  [[nodiscard]] Rational loss() const;                 ///< ½E‖residual‖²
  [[nodiscard]] Sizes sizes() const;
  [[nodiscard]] std::string text() const;
};

/// What a statement says of one case: yes, no, or nothing.
using ReadoutPrediction = std::function<std::optional<bool>(const ReadoutCase&)>;

/// Lists of cases with n up to 4 samples (up to 9 where residuals are independent), d
/// and m up to 3, wide and tall, W of full rank, of deficient rank and zero. Each list starts with
/// cases of one feature and one output in order of size, then `draws` seeded ones.

/// Any target, b = 0; in some E T = 0, in some the features are constant or have mean zero.
std::vector<ReadoutCase> readout_cases(std::uint64_t seed, int draws);
/// b is an optimal intercept: E R = 0. In some b = -μ, in some every residual is zero.
std::vector<ReadoutCase> optimal_cases(std::uint64_t seed, int draws);
/// b is an optimal intercept and R is independent of φ: every residual comes with every feature. In
/// some μ + b is a multiple of μ.
std::vector<ReadoutCase> independent_cases(std::uint64_t seed, int draws);

}  // namespace kappascope::theory
