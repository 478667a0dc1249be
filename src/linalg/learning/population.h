// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <vector>

#include "linalg/learning/sketch.h"

namespace kappascope::linalg {

/// What one part of the rows shows of a population where others try it.
struct TriedPart {
  const Trained* trained = nullptr;
  std::vector<std::size_t> held;  ///< blocks that try it
  double held_rows = 0;
};

/// Logarithms of steps until half, a tenth and a hundredth remain.
using LogSteps = Eigen::Array3d;

/// The spectrum of Σ, and the measures of vectors c in its eigenvectors, as rows show them: a
/// positive measure on a grid from the smallest κ that is resolved to λmax, and on zero.
class Population {
 public:
  /// Which bounds of the curves are taken: those that show the spectrum with the least weight on
  /// small eigenvalues, those with the most, or their geometric means.
  enum class Side { kFast, kMiddle, kSlow };
  /// `similar`: of nearly the same rows, from which the fit goes on.
  explicit Population(const std::vector<TriedPart>& parts,
                      Side side = Side::kMiddle,
                      const Population* similar = nullptr);

  static constexpr int kNone = -1;
  /// Of Σ, learned with Σ or with Σ + ccᵀ for the vector `along` of Trained::along. What the rows
  /// do not resolve lies at `unresolved`, and λmax of Σ is `largest`. Infinite where a share always
  /// remains.
  [[nodiscard]] LogSteps log_steps(int along, double unresolved, double largest) const;

  [[nodiscard]] double floor() const { return floor_; }  ///< the smallest κ that is resolved
  [[nodiscard]] double largest() const { return largest_; }
  /// Bounds of λmax: of rows that did not choose its direction, and of those that did.
  [[nodiscard]] double least_largest() const { return least_largest_; }
  [[nodiscard]] double most_largest() const { return most_largest_; }
  /// Share of the trace below the floor.
  [[nodiscard]] double unresolved() const { return variance_(0) / variance_.sum(); }

 private:
  Eigen::VectorXd nodes_;     // ascending; the first is zero
  Eigen::VectorXd variance_;  // trace of Σ at the nodes
  std::vector<Eigen::VectorXd> along_;
  double floor_ = 0, largest_ = 0, least_largest_ = 0, most_largest_ = 0;
};

}  // namespace kappascope::linalg
