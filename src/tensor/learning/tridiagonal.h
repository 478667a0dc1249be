// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>

#include "kappascope/linalg/symmetric_eigen.h"
#include "linalg/learning/sketch.h"

namespace kappascope::tensor {

/// What a Lanczos recursion from one vector leaves: a tridiagonal matrix.
struct Tridiagonal {
  double start_squared = 0;  ///< of the start vector's length
  Eigen::VectorXd diagonal;  ///< [k]
  Eigen::VectorXd beside;    ///< [k]: the last couples to what was not computed; 0: nothing is left
};

/// vᵀ (M + λ)⁻¹ v for the start vector v, for a matrix that is positive semidefinite but for
/// rounding of `slack` < λ: bounds from Gauss and from Gauss-Radau quadrature with a node at -slack
/// (Golub and Meurant 2010, chapter 6).
linalg::Curve curve_of(const Tridiagonal& lanczos, const Eigen::ArrayXd& lambdas, double slack);

/// uᵀ (M + λ)⁻¹ v; `products` are uᵀ times the Lanczos vectors.
linalg::Curve curve_of(const Tridiagonal& lanczos,
                       const Eigen::ArrayXd& lambdas,
                       const Eigen::VectorXd& products);

/// Ritz values, ascending, and their vectors in Lanczos vectors.
linalg::SymmetricEigen ritz_pairs(const Tridiagonal& lanczos);

}  // namespace kappascope::tensor
