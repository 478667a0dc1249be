// SPDX-License-Identifier: Apache-2.0
#include "linalg/random_starts.h"

#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace kappascope::linalg {

using Eigen::Index;

namespace {

/// Right singular vectors, [n, n], of a matrix of n columns, and as many singular values. The
/// matrix is made square here, as Eigen's own step to a square one frees its memory twice where an
/// allocation fails.
std::pair<Eigen::MatrixXd, Eigen::VectorXd> right_singular(const Eigen::MatrixXd& matrix) {
  const Index n = matrix.cols();
  // Squares of the entries may be beyond the range of a double.
  const double largest = matrix.size() == 0 ? 0 : matrix.cwiseAbs().maxCoeff();
  const double scale = largest > 0 ? largest : 1;
  Eigen::MatrixXd square = Eigen::MatrixXd::Zero(n, n);
  if (matrix.rows() > n) {
    const Eigen::HouseholderQR<Eigen::MatrixXd> factors(matrix / scale);
    square = factors.matrixQR().topRows(n).triangularView<Eigen::Upper>();
  } else {
    square.topRows(matrix.rows()) = matrix / scale;
  }
  const Eigen::JacobiSVD<Eigen::MatrixXd, Eigen::NoQRPreconditioner> values(square,
                                                                            Eigen::ComputeFullV);
  return {values.matrixV(), scale * values.singularValues()};
}

}  // namespace

void RandomStarts::swapped(Index i, Index j) {
  std::iter_swap(std::find(place_.begin(), place_.end(), i),
                 std::find(place_.begin(), place_.end(), j));
}

void RandomStarts::started(const Eigen::VectorXd& coordinates, double share) {
  ++drawn_;
  starts_.push_back({cycles_.size(), coordinates(place_), share});
}

void RandomStarts::restarted(const RitzPairs& ritz, const std::vector<Index>& kept) {
  const auto left = kept.size() + static_cast<std::size_t>(ritz.coupling.rows());
  cycles_.push_back({ritz, kept, std::exchange(place_, std::vector<Index>(left))});
  std::iota(place_.begin(), place_.end(), 0);
}

void RandomStarts::forget(Index expanded) {
  starts_.clear();
  cycles_.clear();
  place_.resize(static_cast<std::size_t>(expanded));
  std::iota(place_.begin(), place_.end(), 0);
}

double RandomStarts::overlap(const Start& start, double lambda, const RitzPairs& last) const {
  Eigen::VectorXd known = start.coordinates;
  double slack = 0;
  for (std::size_t c = start.cycle;; ++c) {
    const bool ended = c < cycles_.size();
    const RitzPairs& ritz = ended ? cycles_[c].ritz : last;
    const auto& place = ended ? cycles_[c].place : place_;
    const Index m = ritz.eigen.values.size(), block = ritz.coupling.rows();
    Eigen::VectorXd g = Eigen::VectorXd::Zero(m + block);
    for (Index i = 0; i < known.size(); ++i) g(place[static_cast<std::size_t>(i)]) = known(i);
    Eigen::VectorXd a = ritz.eigen.vectors.transpose() * g.head(m);
    known.resize(0);
    if (ended) {
      known.resize(static_cast<Index>(cycles_[c].kept.size()) + block);
      known << a(cycles_[c].kept), Eigen::VectorXd::Zero(block);
      a(cycles_[c].kept).setZero();
    }
    // Pairs that are exact to the last bit, as all of a zero operator, are at no distance from it.
    const bool exact = ritz.error == 0 && ritz.coupling.isZero(0) && ritz.given_up.isZero(0);
    const Eigen::ArrayXd distance =
        exact ? Eigen::ArrayXd::Ones(m) : Eigen::ArrayXd(ritz.eigen.values.array() - lambda);
    a.array() /= distance;
    slack += ritz.error * a.norm() + (ritz.given_up.cwiseAbs() * a.cwiseAbs()).sum();
    const Eigen::VectorXd h = g.tail(block) - ritz.coupling * a;
    if (ended) {
      known.tail(block) = h;
      continue;
    }
    if (!distance.inverse().isFinite().all()) return std::numeric_limits<double>::infinity();
    if (block == 0) return slack;
    // hᵀ (1 + B Bᵀ)⁻¹ h by singular values, as those of B can be 1e12 apart.
    const auto [v, singular] =
        right_singular(distance.inverse().matrix().asDiagonal() * ritz.coupling.transpose());
    Eigen::ArrayXd shrunk = (v.transpose() * h).array();
    shrunk /= (1 + singular.array().square()).sqrt();
    // What moves y lets |z| be larger by as much.
    const double moved =
        ritz.error * distance.inverse().abs().maxCoeff() +
        (ritz.given_up * distance.inverse().matrix().asDiagonal()).rowwise().norm().sum();
    return (1 + moved) * shrunk.matrix().norm() + slack;
  }
}

double RandomStarts::chance(double lambda, const RitzPairs& ritz) const {
  double least = 1;
  for (const auto& start : starts_) {
    // The density of u·g is at most sqrt(n / 2π). Of several starts the best is taken, and which
    // are left may depend on them, so each that was drawn has a share of the probability.
    const double density = std::sqrt(2 * static_cast<double>(n_) / std::numbers::pi);
    const double chance = density / start.share * drawn_ * overlap(start, lambda, ritz);
    if (chance < least) least = chance;  // NaN at a Ritz value says nothing
  }
  return least;
}

Eigen::VectorXd reach_of_missed(const Eigen::VectorXd& values,
                                double range,
                                double tolerance,
                                const std::function<double(double)>& chance) {
  // Any of the eigenvectors up to this rank may be the one that has too little of the starts.
  constexpr double kMissed = 0.05;
  // What lies a hundred times within the tolerance is of no account.
  constexpr double kStep = 1.3, kLeast = 0.01;
  std::vector<double> distances;
  const double least = std::max(kLeast * tolerance, std::numeric_limits<double>::epsilon() * range);
  for (double d = range; distances.empty() || d > least; d /= kStep) {
    if (d > tolerance && d / kStep < tolerance) distances.push_back(d);
    distances.push_back(d > tolerance && d / kStep < tolerance ? tolerance : d);
  }
  // [k] the largest chance of one beyond the values so far, no nearer to them than distance k. With
  // several starts it is not monotone.
  std::vector<double> largest(distances.size(), 0.0);
  Eigen::VectorXd reach(values.size());
  for (Index i = 0; i < values.size(); ++i) {
    const double each = kMissed / static_cast<double>(i + 1);
    double here = 0;
    reach(i) = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < distances.size(); ++k) {
      const double d = distances[k];
      if (i == 0) {
        here = std::max(here, chance(values(0) + d));
      } else if (values(i - 1) - values(i) > 2 * d) {
        here = std::max({here, chance(values(i) + d), chance(values(i - 1) - d)});
      }
      largest[k] = std::max(largest[k], here);
      if (largest[k] > each) {
        // Nor for those that follow.
        std::fill(largest.begin() + static_cast<std::ptrdiff_t>(k), largest.end(), 1.0);
        break;
      }
      reach(i) = d;
    }
  }
  return reach;
}

}  // namespace kappascope::linalg
