// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "kappascope/linalg/random.h"
#include "kappascope/linalg/symmetric_eigen.h"
#include "linalg/random_starts.h"

namespace kappascope::linalg {

/// The vectors of a Krylov method, wherever they live: columns v_0, v_1, … of order n, one work
/// vector w, and a symmetric operator A. Everything large happens behind these members; what
/// crosses to the host is short. Every reduction (project, dot, norm) must accumulate in double:
/// float32 sums are wrong by 1e-4 at 4 million elements, and an eigenvalue is such a sum.
template <typename B>
concept KrylovBasis = requires(B basis,
                               Eigen::Index i,
                               std::uint64_t seed,
                               double x,
                               const Eigen::VectorXd& c,
                               const Eigen::MatrixXd& y) {
  { basis.size() } -> std::convertible_to<Eigen::Index>;         // n
  basis.random(seed);                                            // w = independent standard normals
  basis.multiply(i);                                             // w = A v_i
  { basis.project(i) } -> std::convertible_to<Eigen::VectorXd>;  // [v_0 … v_{i-1}]ᵀ w
  // w -= Σ c_j v_j, then [v_0 …]ᵀ w for all c.size() columns, in one pass; only columns with
  // c_j != 0 cost anything in the first half.
  { basis.subtract_project(c) } -> std::convertible_to<Eigen::VectorXd>;
  { basis.subtract(c) } -> std::convertible_to<double>;  // w -= Σ c_j v_j, j < c.size(); ‖w‖ then
  { basis.dot(i) } -> std::convertible_to<double>;       // v_i · w
  { basis.norm() } -> std::convertible_to<double>;       // ‖w‖
  basis.axpy(x, i);                                      // w += x v_i
  basis.store(i, x);                                     // v_i = x w; columns grow as needed
  basis.rotate(y);                                       // the first columns become [v_0 …] y
  basis.swap(i, i);                                      // exchanges two columns
};

/// An orthonormal basis that grows by products with A, and A's projection on it. Plain algebra
/// behind lanczos() and spectral_density(): what is asked of it and when to stop is theirs.
///
/// V are the m expanded columns, P behind them the residual block, whose products are still to
/// come:
///   A V = V H + P C,  [V P] orthonormal.
/// Classic Lanczos has a residual block of one column and one entry β in C; a second starting
/// vector adds a second one. For u = V y, ‖A u - θ u‖ = ‖C y‖ without a product. All of H is
/// computed, not only three diagonals: full orthogonalisation needs these projections anyway.
template <KrylovBasis Basis>
class KrylovSpace {
 public:
  /// `noise` as in SymmetricOperator; `seed` of the random vectors.
  KrylovSpace(Basis& basis, double noise, std::uint64_t seed)
      : basis_(basis), noise_(std::max(noise, 1e-15)), random_(seed), starts_(basis.size()) {}

  [[nodiscard]] Eigen::Index expanded() const { return h_.rows(); }
  /// Columns of the residual block.
  [[nodiscard]] Eigen::Index block() const { return c_.rows(); }
  /// There is no direction left.
  [[nodiscard]] bool complete() const { return expanded() == basis_.size(); }
  /// No product leaves the space; the next direction would be a random one.
  [[nodiscard]] bool invariant() const { return block() == 0; }
  [[nodiscard]] bool finite() const { return finite_; }
  [[nodiscard]] int products() const { return products_; }
  /// The most that the products contradicted symmetry by, as seen in the space: for a symmetric
  /// operator at most ‖ΔA‖, the error of a product.
  [[nodiscard]] double asymmetry() const { return asymmetry_; }
  [[nodiscard]] const Eigen::MatrixXd& projection() const { return h_; }
  [[nodiscard]] const Eigen::MatrixXd& coupling() const { return c_; }
  /// What its random vectors say of the eigenvectors that it has not found.
  [[nodiscard]] const RandomStarts& random_starts() const { return starts_; }

  /// Adds a random column to the residual block, if there is a direction left for one.
  void random_restart() {
    while (finite_ && columns() < basis_.size()) {
      basis_.random(random_.next());
      if (const auto coordinates = add_orthogonal(); coordinates.size() > 0) {
        starts_.started(coordinates, 1);
        return;
      }
    }
  }
  /// Adds w to the residual block; a random vector where w is zero or in the space already.
  void start_from_work() {
    if (add_orthogonal().size() == 0) random_restart();
  }
  /// The same for w and a random part, `share` times as long.
  void start_near_work(double share) {
    const double length = basis_.norm();
    if (!(length > 0) || columns() == basis_.size()) return start_from_work();
    basis_.store(columns(), 1 / length);
    basis_.random(random_.next());
    basis_.axpy(basis_.norm() / share, columns());
    if (const auto coordinates = add_orthogonal(); coordinates.size() > 0)
      starts_.started(coordinates, share / std::sqrt(1 + share * share));
  }

  /// One product, with column `which` of the residual block: it joins V, and what is new of its
  /// product becomes the block's last column. Needs block() > which.
  void expand(Eigen::Index which) {
    const Eigen::Index m = expanded();
    if (which != 0) {
      basis_.swap(m, m + which);
      starts_.swapped(m, m + which);
      c_.row(0).swap(c_.row(which));
    }
    basis_.multiply(m);
    ++products_;
    // Symmetry tells most of the product's coordinates before they are measured: those on V are
    // v_m's coupling. Taken out first, they leave so little that one full pass is enough.
    Eigen::VectorXd column = Eigen::VectorXd::Zero(columns());
    column.head(m) = c_.row(0).transpose();
    column(m) = basis_.dot(m);
    const Eigen::VectorXd rest = basis_.subtract_project(column);
    double beta = basis_.subtract(rest);
    // Not so where much of it lies along the rest of the block.
    if (rest.norm() > beta) beta = basis_.subtract(basis_.project(columns()));
    column += rest;
    finite_ = column.allFinite() && std::isfinite(beta);
    if (!finite_) return;
    asymmetry_ = std::max(asymmetry_, rest.head(m).norm() - dropped_);
    given_up_.conservativeResize(Eigen::NoChange, m + 1);
    given_up_.col(m).setZero();
    scale_ = std::max(scale_, column.norm());
    h_.conservativeResize(m + 1, m + 1);
    h_.col(m) = column.head(m + 1);
    h_.row(m) = column.head(m + 1).transpose();
    const Eigen::Index left = block() - 1;
    Eigen::MatrixXd c(left, m + 1);
    c << c_.bottomRows(left), column.tail(left);
    c_ = std::move(c);
    if (beta <= noise_ * scale_ || columns() == basis_.size()) return;
    basis_.store(columns(), 1 / beta);
    append_to_block(beta);
  }

  [[nodiscard]] RitzPairs ritz() const {
    SymmetricEigen eigen = symmetric_eigen(h_);
    Eigen::MatrixXd coupling = c_ * eigen.vectors;
    Eigen::MatrixXd given_up = given_up_ * eigen.vectors;
    return {std::move(eigen), std::move(coupling), std::move(given_up), noise_ * scale_};
  }

  /// Thick restart (Wu and Simon 2000): keeps some of the Ritz pairs, which are those of the
  /// moment, and the residual block.
  void restart(const RitzPairs& ritz, const std::vector<Eigen::Index>& kept) {
    const Eigen::Index m = expanded(), left = std::ssize(kept);
    basis_.rotate(ritz.eigen.vectors(Eigen::all, kept));
    for (Eigen::Index i = 0; i < block() && m != left; ++i) basis_.swap(m + i, left + i);
    h_ = ritz.eigen.values(kept).asDiagonal();
    c_ = ritz.coupling(Eigen::all, kept);
    given_up_ = ritz.given_up(Eigen::all, kept);
    starts_.restarted(ritz, kept);
  }

  /// Gives up the residual block, so that the next column is free to lie in its directions. H stays
  /// exact; the coupling no longer tells all of a residual: up to dropped() is missing.
  void drop_block() {
    dropped_ += c_.norm();
    Eigen::MatrixXd all(given_up_.rows() + block(), expanded());
    all << given_up_, c_;
    given_up_ = std::move(all);
    c_.resize(0, expanded());
    starts_.forget(expanded());
  }
  /// The norm of the coupling that was given up.
  [[nodiscard]] double dropped() const { return dropped_; }

 private:
  [[nodiscard]] Eigen::Index columns() const { return expanded() + block(); }

  /// Makes w orthogonal to all columns and stores it behind them; "twice is enough" (Parlett 1998).
  /// The coordinates of w, as long as 1, in all columns then; none, and nothing is stored, where
  /// nothing but rounding is left of it.
  Eigen::VectorXd add_orthogonal() {
    const Eigen::Index count = columns();
    const double before = basis_.norm();
    double length = before;
    Eigen::VectorXd coordinates = Eigen::VectorXd::Zero(count + 1);
    for (int pass = 0; pass < 2 && count > 0; ++pass) {
      const Eigen::VectorXd along = basis_.project(count);
      length = basis_.subtract(along);
      coordinates.head(count) += along;
    }
    finite_ = finite_ && std::isfinite(length);
    if (!(length > 1e-14 * before) || count == basis_.size()) return {};
    basis_.store(count, 1 / length);
    append_to_block(0);
    coordinates(count) = length;
    return coordinates / before;
  }

  /// The column just stored is reached from the last expanded one, with β.
  void append_to_block(double beta) {
    const Eigen::Index rows = block();
    c_.conservativeResize(rows + 1, expanded());
    c_.row(rows).setZero();
    starts_.added();
    if (expanded() > 0) c_(rows, expanded() - 1) = beta;
  }

  Basis& basis_;
  double noise_;
  Random random_;
  RandomStarts starts_;
  Eigen::MatrixXd h_ = Eigen::MatrixXd(0, 0);
  Eigen::MatrixXd c_ = Eigen::MatrixXd(0, 0);
  Eigen::MatrixXd given_up_ = Eigen::MatrixXd(0, 0);  // as c_, of columns that are no longer there
  double scale_ = 0;
  double asymmetry_ = 0;
  double dropped_ = 0;
  int products_ = 0;
  bool finite_ = true;
};

}  // namespace kappascope::linalg
