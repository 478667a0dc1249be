// SPDX-License-Identifier: Apache-2.0
// Effective rank, stable rank and isotropy of a population from a sample's spectrum.
#pragma once

#include <Eigen/Core>
#include <functional>

#include "kappascope/linalg/features/kappa.h"
#include "linalg/features/sampling_bounds.h"

namespace kappascope::linalg {

/// A sample covariance S (divisor n) and its spectrum: eigenvalues of weight 1, or the nodes of a
/// quadrature with weights that add up to d.
struct ShapeFacts {
  double dimension = 0;
  Eigen::ArrayXd values, weights;
  double lambda_max = 0, lambda_max_bound = 0;
  double trace = 0, frobenius_squared = 0, fourth = 0;  ///< as in SecondMomentFacts
  double n_effective = 0;
  double entropy = 0;        ///< -Σ p log p over p = λ/tr S
  double entropy_error = 0;  ///< of it as a quadrature, at the confidence of the intervals
};

/// -Σ p log p over the shares p = λ/trace of these weights.
double entropy(const Eigen::ArrayXd& values, const Eigen::ArrayXd& weights, double trace);

/// tr Σ / λmax. The trace is a mean over rows; λmax(S) lies between along_low and top times that of
/// Σ (sampling_bounds.h), as the upper end of a kappa.
SpectralEstimate stable_rank(const ShapeFacts& facts, const RowTails& tails, double confidence);

/// exp of the entropy H of Σ's spectrum (Roy and Vetterli 2007).
///
/// By second-order perturbation, Gaussian rows make the sample's entropy too small by
///   B = 1/(2 n tr Σ) [Σ_ij λi λj / L(λi, λj) + Σ λi],  L(a, b) = (a - b)/(log a - log b),
/// which is γ/2 where Σ is isotropic, as the law of Marchenko and Pastur has it; for heavier tails
/// times the quotient of E ‖S - Σ‖² and its Gaussian value. B is taken from the sample's own
/// spectrum, which costs an error of its order squared: 2 B² on either side, of which an isotropic
/// Σ takes two thirds and less. First order gives the standard error, Σ p² (log p + H)² (kurtosis -
/// 1)/n. With B above 0.3 (isotropic: n < 1.3 d) the expansion says nothing: the value is NaN, and
/// the interval is what isotropy leaves, as exp H >= (tr Σ)²/tr Σ².
SpectralEstimate effective_rank(const ShapeFacts& facts,
                                const RowTails& tails,
                                const SpectralEstimate& isotropy,
                                double confidence);

/// (tr Σ)²/(d tr Σ²) from the unbiased estimates of numerator and denominator for rows of any law
/// (Himeno and Yamada 2014, eqs. 2.2 and 2.3; a U-statistic, Chen and Qin 2010). `influence` is the
/// variance of what a row adds, 2(‖y‖²/tr Σ - 1) - 2(yᵀΣy/tr Σ² - 1) for y = x - μ; it vanishes
/// where Σ is isotropic, and the second order of the U-statistic, 4/n², is what is left.
SpectralEstimate isotropy(const ShapeFacts& facts,
                          const RowTails& tails,
                          double influence,
                          double confidence);

/// `influence` of the kept rows, with Σx by `multiply`, or that of independent features with the
/// spectrum and the kurtosis of `facts` and `tails` where it is larger: few rows show few of the
/// heavy ones.
double isotropy_influence(const Moments& moments,
                          const ShapeFacts& facts,
                          const RowTails& tails,
                          const std::function<Eigen::VectorXd(const Eigen::VectorXd&)>& multiply);

/// All three. None is resolved of rows that do not vary, of four effective rows or fewer, and where
/// rounding of the rows may make more than a hundredth of their variance.
void set_shape(const Moments& moments,
               const ShapeFacts& facts,
               const RowTails& tails,
               const std::function<Eigen::VectorXd(const Eigen::VectorXd&)>& multiply,
               double confidence,
               Conditioning& result);

}  // namespace kappascope::linalg
