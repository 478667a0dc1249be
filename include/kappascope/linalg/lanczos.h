// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <string>

namespace kappascope::linalg {

/// A symmetric operator of order n as the only thing that Krylov methods know of a matrix.
struct SymmetricOperator {
  Eigen::Index size = 0;
  /// y = A x; x and y are [size] and do not alias.
  std::function<void(const Eigen::VectorXd& x, Eigen::VectorXd& y)> apply;
  /// Relative error of one product (‖Δy‖ / (‖A‖ ‖x‖)): 1e-15 in double, about 1e-6 in float.
  double product_noise = 1e-15;
};
SymmetricOperator dense_operator(const Eigen::MatrixXd& matrix);

enum class KrylovStatus {
  kConverged,    ///< every wanted pair reached its residual
  kMaxProducts,  ///< the budget of products ended first; residuals say how far each pair came
  kNonFinite,    ///< the operator returned NaN or infinity
};
const char* to_string(KrylovStatus status);

enum class SpectrumEnd { kLargest, kSmallest, kBoth };

struct LanczosOptions {
  int top = 5;  ///< pairs wanted at each asked end
  SpectrumEnd which = SpectrumEnd::kBoth;
  double tolerance = 1e-3;  ///< on ‖A v - θ v‖ / max |θ|; never below the product's noise
  int max_products = 300;
  int max_basis = 80;  ///< vectors kept before a thick restart
  std::uint64_t seed = 0;
  bool vectors = false;
};

struct LanczosResult {
  KrylovStatus status = KrylovStatus::kMaxProducts;
  Eigen::VectorXd eigenvalues;  ///< descending; the largest `top` and/or the smallest `top`
  Eigen::VectorXd
      residuals;  ///< true residual ‖A v - θ v‖ of each, one more product apiece not counted twice
  Eigen::MatrixXd eigenvectors;  ///< [n, k] when asked
  int products = 0;
};

/// Extreme eigenpairs by Lanczos with full reorthogonalisation ("twice is enough") and thick
/// restart (Wu and Simon 2000). n = 1, k = n, the zero operator and repeated eigenvalues are
/// ordinary cases.
LanczosResult lanczos(const SymmetricOperator& op, const LanczosOptions& options = {});

struct DensityOptions {
  int steps = 60;           ///< Lanczos steps a probe
  int probes = 4;           ///< random starts; the band comes from their spread
  int points = 512;         ///< of the grid
  double bandwidth = 0.01;  ///< standard deviation of the smoothing, as a share of the range
  std::uint64_t seed = 0;
};

/// Spectral density by stochastic Lanczos quadrature (Ubaru, Chen and Saad 2017).
struct Density {
  KrylovStatus status = KrylovStatus::kConverged;
  Eigen::VectorXd grid, density, lower,
      upper;                           ///< [points]; the band is 95 % pointwise over probes
  Eigen::VectorXd nodes, weights;      ///< all probes' Ritz values; the weights sum to 1
  double negative_mass = 0;            ///< share of the spectrum below -noise
  double near_zero_mass = 0;           ///< share within 1e-3 of the largest magnitude
  double trace = 0, trace_stderr = 0;  ///< of the operator (n times the mean of the density)
  int products = 0;
};
Density spectral_density(const SymmetricOperator& op, const DensityOptions& options = {});

}  // namespace kappascope::linalg
