// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <functional>
#include <limits>
#include <vector>

#include "kappascope/linalg/symmetric_eigen.h"

namespace kappascope::linalg {

/// Ritz pairs of a KrylovSpace, A V = V H + P C + Q D, where the unit columns Q were given up.
struct RitzPairs {
  SymmetricEigen eigen;      ///< of H, ascending: θ and Y
  Eigen::MatrixXd coupling;  ///< C Y, a column a pair; its norm is the pair's residual
  Eigen::MatrixXd given_up;  ///< D Y
  double error = 0;          ///< of A V: the noise of products
};

/// What the random starts of a KrylovSpace say of the eigenvectors that it has not found.
///
/// Let u be a unit eigenvector at λ, y = Vᵀu and z = Pᵀu. From A V = V H + P C,
///   (H - λ) y = -Cᵀz,   so with a random unit vector g = V a + P b
///   u·g = hᵀz,  h = b - C (H - λ)⁻¹ a,  and  |y|² + |z|² <= 1  bounds z by
///   (u·g)² <= hᵀ (1 + C (H - λ)⁻² Cᵀ)⁻¹ h.
/// For one start and no restart this is the Christoffel function of Lanczos' measure: no measure
/// with the same moments has more mass at λ. It falls as 1 / Π (θ_i - λ)² with every product. But g
/// knew nothing of u, and |u·g| <= ε has a probability of at most ε sqrt(2 n / π). So a small bound
/// says how improbable it is that there is an eigenvalue at λ: the argument of Kuczyński and
/// Woźniakowski (1992), with the polynomial that has run in place of Chebyshev's, which makes it
/// one for all ranks. Through a thick restart the parts of g along what is given up become
/// functions of λ, so the cycles are kept and gone through again. What is neither in H nor in C,
/// noise and Q D, adds at most its own product with (H - λ)⁻¹ a, and moves y, whose length bounds
/// z.
class RandomStarts {
 public:
  explicit RandomStarts(Eigen::Index n) : n_(n) {}

  /// A column was added to V and P, two of their columns changed places.
  void added() { place_.push_back(static_cast<Eigen::Index>(place_.size())); }
  void swapped(Eigen::Index i, Eigen::Index j);
  /// The last column added made this unit vector a part of the span: its coordinates there. Of it
  /// `share` is a random vector; whatever the rest is, it makes no |u·g| less likely.
  void started(const Eigen::VectorXd& coordinates, double share);
  /// The `kept` Ritz vectors and P are all that stays.
  void restarted(const RitzPairs& ritz, const std::vector<Eigen::Index>& kept);
  /// P is given up, and what the starts had in it.
  void forget(Eigen::Index expanded);

  /// At most this is the probability that a given eigenvector at `lambda` has as little of the
  /// starts as it must have by now; 1 where there was none.
  [[nodiscard]] double chance(double lambda, const RitzPairs& ritz) const;

 private:
  struct Start {
    std::size_t cycle;
    Eigen::VectorXd coordinates;  // in the columns of that cycle, as they were added
    double share;
  };
  struct Cycle {
    RitzPairs ritz;
    std::vector<Eigen::Index> kept, place;
  };
  [[nodiscard]] double overlap(const Start& start, double lambda, const RitzPairs& ritz) const;

  Eigen::Index n_;
  int drawn_ = 0;  // starts, also those that are forgotten
  std::vector<Start> starts_;
  std::vector<Cycle> cycles_;        // behind us
  std::vector<Eigen::Index> place_;  // of each column of this cycle in [V P]
};

/// How far from the found values a missed eigenvalue may lie, of each rank: with probability 95 %
/// there is none beyond values(i), the i-th from the outside, but within [i] of it or of one of
/// those before it. To a third, to the side of `tolerance` that it is on, and no smaller than a
/// hundredth of that. `values` descending; `range`: of all that is there. Infinite: nothing is
/// known. Cost: some fifty chances a rank.
Eigen::VectorXd reach_of_missed(const Eigen::VectorXd& values,
                                double range,
                                double tolerance,
                                const std::function<double(double)>& chance);

}  // namespace kappascope::linalg
