// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kappascope/linalg/symmetric_eigen.h"
#include "linalg/krylov.h"

namespace kappascope::linalg {

/// A Gauss quadrature of the spectral measure Σ (u_i · v)² δ(x - λ_i) of a unit vector v.
struct Quadrature {
  Eigen::VectorXd nodes, weights;  ///< [m] ascending Ritz values; weights that sum to 1
  Eigen::VectorXd residuals;       ///< [m] an eigenvalue lies within this of its node
  /// [m - 1] those of a step less: what the last step changed tells what more of them would.
  Eigen::VectorXd nodes_before, weights_before;
  /// [m] each, of the tridiagonal matrix; the last off-diagonal entry is what the last step left.
  Eigen::VectorXd diagonal, off_diagonal;
  int products = 0;
  int inner_products = 0;  ///< taken for reorthogonalisation; full would take steps² / 2
  bool finite = true;      ///< false: the operator returned NaN or infinity, there are no nodes
};

/// Directions that a quadrature leaves out: the first `count` columns of the basis, orthonormal.
struct LeftOut {
  Eigen::Index count = 0;
  double magnitude = 0;  ///< largest of an eigenvalue there, which the noise of products goes by
};

/// How far the Lanczos vectors v_0 … v_j have lost their orthogonality, from the recurrence that
/// their inner products ω_jk = v_j · v_k follow (Simon 1984, Math. Comp. 42, eq. 2.9), without
/// looking at a vector. Each product errs by `noise` of its own length, of which a share of
/// 1/sqrt(n) lies along another vector if the error points anywhere; forty times that is allowed
/// for, as on a network they favour the top of the spectrum (ten times fell short there by three).
/// The signs are taken so that nothing cancels.
class OrthogonalityLoss {
 public:
  /// `magnitude`: of a product, where it is more than the recurrence shows.
  OrthogonalityLoss(double noise, Eigen::Index n, double magnitude = 0)
      : noise_(noise * std::min(1.0, 40 / std::sqrt(static_cast<double>(n)))),
        magnitude_(magnitude) {}

  /// The largest |ω_{j+1,k}|, k <= j, for T with diagonal a [j + 1] and off-diagonal b [j], and
  /// next_b = ‖A v_j - b_{j-1} v_{j-1} - a_j v_j‖.
  double extend(const std::vector<double>& a, const std::vector<double>& b, double next_b) {
    const std::size_t j = a.size() - 1;
    const double before = j > 0 ? b[j - 1] : 0;
    lengths_.push_back(std::max(magnitude_, std::hypot(before, a[j], next_b)));
    std::vector<double> next(j + 2, noise_);
    next[j + 1] = 1;
    double largest = noise_;
    for (std::size_t k = 0; k < j; ++k) {
      double sum = b[k] * current_[k + 1] + (a[k] - a[j]) * current_[k] - before * previous_[k];
      if (k > 0) sum += b[k - 1] * current_[k - 1];
      next[k] = (sum + std::copysign(noise_ * (lengths_[k] + lengths_[j]), sum)) / next_b;
      largest = std::max(largest, std::abs(next[k]));
    }
    previous_ = std::move(current_);
    current_ = std::move(next);
    return largest;
  }
  /// How many of the first vectors there are up to the last with |ω_{j+1,k}| above `level`. What is
  /// lost lies along Ritz vectors that have converged, and these in the vectors up to then.
  [[nodiscard]] Eigen::Index affected(double level) const {
    auto k = std::ssize(current_) - 1;
    while (k > 0 && std::abs(current_[static_cast<std::size_t>(k - 1)]) <= level) --k;
    return k;
  }
  /// v_{j+1} was made orthogonal to the first `count`.
  void reset(Eigen::Index count) { std::fill_n(current_.begin(), count, noise_); }

 private:
  double noise_, magnitude_;
  std::vector<double> previous_, current_{1}, lengths_;
};

/// The quadrature of a random start by `steps` steps of Lanczos: polynomials of degree 2 steps - 1
/// are integrated exactly, but for the noise.
///
/// With `keep`, vectors are semi-orthogonal: inner products stay below the root of the noise, by
/// reorthogonalising two vectors in a row where OrthogonalityLoss says so. Then T is the projection
/// of A to the noise itself (Simon 1984, Theorem 4), which is all that nodes and weights need.
/// Without, two columns are all there are, and an eigenvalue that has converged comes again as
/// further nodes. Their weights share what was its own (Greenbaum 1989), so integrals stay; that a
/// node is an eigenvalue of its own is lost.
///
/// With directions Q left out, start and operator are those of the rest, (I-QQᵀ)A(I-QQᵀ).
template <KrylovBasis Basis>
Quadrature quadrature_in(Basis& basis,
                         double product_noise,
                         int steps,
                         bool keep,
                         std::uint64_t seed,
                         const LeftOut& left_out = {}) {
  const double noise = std::max(product_noise, 1e-15);
  const auto last = std::min<Eigen::Index>(steps, basis.size() - left_out.count) - 1;
  const auto slot = [&](Eigen::Index j) { return left_out.count + (keep ? j : j % 2); };
  const auto leave_out = [&] {
    if (left_out.count > 0) basis.subtract(basis.project(left_out.count));
  };
  Quadrature quadrature;
  std::vector<double> a, b;
  OrthogonalityLoss loss(noise, basis.size(), left_out.magnitude);
  double scale = left_out.magnitude, remainder = 0;
  bool again = false;
  Eigen::Index first = 0;
  basis.random(seed);
  leave_out();
  basis.store(slot(0), 1 / basis.norm());
  for (Eigen::Index j = 0;; ++j) {
    basis.multiply(slot(j));
    ++quadrature.products;
    leave_out();
    if (j > 0) basis.axpy(-b.back(), slot(j - 1));
    a.push_back(basis.dot(slot(j)));
    basis.axpy(-a.back(), slot(j));
    remainder = basis.norm();
    quadrature.finite = std::isfinite(remainder) && std::isfinite(a.back());
    if (!quadrature.finite) return quadrature;
    scale = std::max(scale, std::hypot(j > 0 ? b.back() : 0, a.back(), remainder));
    if (j == last) break;
    if (keep && remainder > 10 * noise * scale) {
      const bool lost = loss.extend(a, b, remainder) > std::sqrt(noise);
      if (lost || again) {
        // Those that are nearly lost go along (Simon 1984, section 5; Larsen 1998).
        first = std::max(again ? first : 0, loss.affected(std::pow(noise, 0.75)));
        basis.subtract(basis.project(left_out.count + first));
        remainder = basis.norm();
        loss.reset(first);
        quadrature.inner_products += static_cast<int>(first);
      }
      again = lost && !again;
    }
    // An invariant space has seen all that this start can see: its quadrature is exact.
    if (remainder <= 10 * noise * scale) break;
    basis.store(slot(j + 1), 1 / remainder);
    b.push_back(remainder);
  }
  const auto m = static_cast<Eigen::Index>(a.size());
  Eigen::MatrixXd t = Eigen::MatrixXd::Zero(m, m);
  t.diagonal() = Eigen::Map<const Eigen::VectorXd>(a.data(), m);
  t.diagonal<1>() = Eigen::Map<const Eigen::VectorXd>(b.data(), m - 1);
  t.diagonal<-1>() = t.diagonal<1>();
  quadrature.diagonal = t.diagonal();
  quadrature.off_diagonal = Eigen::VectorXd::Constant(m, remainder);
  quadrature.off_diagonal.head(m - 1) = t.diagonal<1>();
  const SymmetricEigen ritz = symmetric_eigen(t);
  quadrature.nodes = ritz.values;
  quadrature.weights = ritz.vectors.row(0).transpose().cwiseAbs2();
  quadrature.residuals = remainder * ritz.vectors.row(m - 1).transpose().cwiseAbs();
  if (m > 1) {
    const SymmetricEigen before = symmetric_eigen(t.topLeftCorner(m - 1, m - 1));
    quadrature.nodes_before = before.values;
    quadrature.weights_before = before.vectors.row(0).transpose().cwiseAbs2();
  }
  return quadrature;
}

}  // namespace kappascope::linalg
