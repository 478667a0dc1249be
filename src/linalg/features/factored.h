// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <limits>

#include "kappascope/linalg/lanczos.h"

namespace kappascope::linalg {

struct FactorOptions {
  /// Overwrites the lower triangle of a positive definite matrix by its Cholesky factor, leaves the
  /// strict upper one alone, and says whether it went well; empty: Eigen's, on one core. A layer
  /// that has LAPACK puts its own here.
  std::function<bool(Eigen::Ref<Eigen::MatrixXd>)> cholesky = {};
  double tolerance = 1e-6;  ///< of the residual of an end, as a share of that end
  int max_products = 300;   ///< with the matrix or its inverse, for each end
  int max_null = 16;        ///< null directions that are looked for one by one
  std::uint64_t seed = 0;
};

/// One end of a spectrum.
struct SpectrumEdge {
  /// A Rayleigh quotient: never beyond the true end, up to rounding.
  double value = std::numeric_limits<double>::quiet_NaN();
  /// ‖A v - value v‖, by a product with A: an eigenvalue lies within that distance. That it is the
  /// last one is what Lanczos says, from a random start (Kuczynski and Wozniakowski 1992).
  double bound = std::numeric_limits<double>::infinity();
  /// kConverged: the bound is within the tolerance, or within rounding; kInconsistent: there is no
  /// factor, the matrix was not positive semidefinite.
  KrylovStatus status = KrylovStatus::kMaxProducts;
  Eigen::VectorXd vector = {};  ///< [d], of length 1
};

struct SpectrumEnds {
  SpectrumEdge largest;
  SpectrumEdge smallest;            ///< of what is not null
  Eigen::Index null_dimension = 0;  ///< eigenvalues at or below null_threshold
  /// False: there may be more null directions, max_null were found; then there is no `smallest`.
  bool null_complete = true;
  double null_threshold = 0;  ///< at or below which an eigenvalue is rounding
  int products = 0;           ///< with the matrix or its inverse
};

/// A covariance of a wide layer, held in d² doubles together with its Cholesky factor: Σ in the
/// upper triangle, L in the lower one. One factorisation (d³/3 operations) serves Σ, every rank-one
/// update Σ + v vᵀ, and every diagonal scaling of those; an end of a spectrum is then a few dozen
/// products of 2 d² operations, where an eigendecomposition takes 9 d³.
///
/// What is factored is the correlation matrix C = D⁻¹ΣD⁻¹, D² = diag Σ, with d·ε added to its unit
/// diagonal: Cholesky's error does not depend on the scaling (Demmel 1989), and the shift, as small
/// as rounding, lets a singular C pass. The shift reaches the search directions only: every value
/// and bound comes from products with Σ itself. Features of variance zero stay out.
class FactoredCovariance {
 public:
  /// Takes the matrix over; only its upper triangle is read. Throws when it is not square, empty,
  /// not finite, or has a negative variance. `factorise` = false leaves the factor out, for a
  /// matrix that is known to be singular: it then has only upper ends.
  explicit FactoredCovariance(Eigen::MatrixXd covariance,
                              const FactorOptions& options = {},
                              bool factorise = true);

  [[nodiscard]] Eigen::Index dimension() const { return matrix_.rows(); }
  /// [d] diag Σ.
  [[nodiscard]] Eigen::VectorXd variances() const { return matrix_.diagonal(); }
  /// ‖S (Σ + v vᵀ) S‖²_F, S = diag(scale).
  [[nodiscard]] double squared_norm(const Eigen::VectorXd& v, const Eigen::VectorXd& scale) const;
  /// False: none was asked for, or Σ is not positive semidefinite up to rounding.
  [[nodiscard]] bool factored() const { return factored_; }
  /// Orthonormal null directions of C, [d, q], without the features of variance zero.
  [[nodiscard]] const Eigen::MatrixXd& null_directions() const { return null_; }

  /// Σ x.
  [[nodiscard]] Eigen::VectorXd multiply(const Eigen::VectorXd& x) const;
  /// Σ⁺ x, where factored.
  [[nodiscard]] Eigen::VectorXd solve(const Eigen::VectorXd& x) const;
  /// [k, d] rows times L⁻ᵀ: whitened, up to a rotation; features of variance zero give zeros, null
  /// directions are left out. In place. Where factored.
  void whiten(Eigen::MatrixXd& rows) const;

  /// The ends of S (Σ + v vᵀ) S, S = diag(scale), positive where the variance is. The inverse of
  /// the update comes from that of Σ by Sherman and Morrison, or, where v reaches into the null
  /// space of Σ and lifts a direction out of it, by bordering. `start`, the ends of a matrix near
  /// by, saves products. `null_threshold` 0 stands for λmax · d · ε of the matrix itself. Where
  /// there is no factor, the largest end alone.
  [[nodiscard]] SpectrumEnds ends(const Eigen::VectorXd& v,
                                  const Eigen::VectorXd& scale,
                                  const SpectrumEnds& start = {},
                                  double null_threshold = 0) const;

 private:
  friend class ScaledUpdate;
  bool factorise();
  void find_null();

  Eigen::MatrixXd matrix_;   // Σ above and on the diagonal, unit lower L below
  Eigen::VectorXd pivots_;   // C + shift = L diag(pivots) Lᵀ
  Eigen::VectorXd inverse_;  // 1/D, zero where the variance is
  Eigen::MatrixXd null_;
  FactorOptions options_;
  bool factored_ = false, null_complete_ = true;
};

}  // namespace kappascope::linalg
