// SPDX-License-Identifier: Apache-2.0
#include "linalg/features/factored.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/require.h"
#include "kappascope/linalg/random.h"
#include "linalg/features/scaled_update.h"

namespace kappascope::linalg {
namespace {

constexpr double kRounding = std::numeric_limits<double>::epsilon();

bool eigen_cholesky(Eigen::Ref<Eigen::MatrixXd> matrix) {
  return Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>>(matrix).info() == Eigen::Success;
}

LanczosResult top_of(const SymmetricOperator& op,
                     const FactorOptions& options,
                     const Eigen::VectorXd& start) {
  LanczosOptions wanted;
  wanted.top = 1;
  wanted.which = SpectrumEnd::kLargest;
  wanted.tolerance = options.tolerance;
  wanted.max_products = options.max_products;
  wanted.seed = options.seed;
  wanted.vectors = true;
  wanted.find_repeated = false;
  wanted.measure_residuals = true;
  return lanczos(op, wanted, start);
}

SpectrumEdge largest_end(const ScaledUpdate& matrix,
                         Eigen::Index d,
                         const FactorOptions& options,
                         const Eigen::VectorXd& start,
                         int& products) {
  const SymmetricOperator op{.size = d, .apply = [&](const Eigen::VectorXd& x, Eigen::VectorXd& y) {
                               y = matrix.multiply(x);
                             }};
  const LanczosResult found = top_of(op, options, start);
  products += found.products;
  SpectrumEdge edge{.status = found.status};
  if (found.eigenvalues.size() == 0) return edge;
  edge.value = found.eigenvalues(0);
  edge.bound = found.residuals(0);
  edge.vector = found.eigenvectors.col(0);
  return edge;
}

/// The smallest eigenvalue of what is orthogonal to `deflated` and in the range.
SpectrumEdge smallest_end(const ScaledUpdate& matrix,
                          const Eigen::MatrixXd& deflated,
                          double lambda_max,
                          const FactorOptions& options,
                          const Eigen::VectorXd& start,
                          int& products) {
  const Eigen::Index d = deflated.rows();
  const auto inverse = [&](Eigen::VectorXd x) {
    project_out(deflated, x);
    x = matrix.inverse(x);
    project_out(deflated, x);
    return x;
  };
  SymmetricOperator op{
      .size = d, .apply = [&](const Eigen::VectorXd& x, Eigen::VectorXd& y) { y = inverse(x); }};
  // A solve is wrong by ε κ; a random vector sees the length of the inverse to within 1/sqrt(d).
  const Eigen::VectorXd random = Random(options.seed).normal_vector(d);
  const double length = inverse(random).norm() / random.norm();
  op.product_noise =
      std::clamp(kRounding * std::sqrt(static_cast<double>(d)) * lambda_max * length, 1e-15, 1e-4);
  const LanczosResult found = top_of(op, options, start);
  products += found.products + 2;
  SpectrumEdge edge{.status = found.status};
  if (found.eigenvalues.size() == 0) return edge;
  // A residual r of the inverse becomes A r of the matrix itself, larger by up to κ; a step of
  // inverse iteration takes that factor back.
  edge.vector = inverse(found.eigenvectors.col(0)).normalized();
  if (!edge.vector.allFinite()) return {.status = KrylovStatus::kNonFinite};
  const Eigen::VectorXd product = matrix.multiply(edge.vector);
  ++products;
  edge.value = edge.vector.dot(product);
  edge.bound = (product - edge.value * edge.vector).norm();
  if (edge.status == KrylovStatus::kInconsistent) edge.status = KrylovStatus::kConverged;
  const double rounding = lambda_max * static_cast<double>(d) * kRounding;
  const double tolerance = std::max(options.tolerance, 10 * op.product_noise);
  if (edge.status == KrylovStatus::kConverged &&
      edge.bound > std::max(10 * tolerance * std::abs(edge.value), rounding)) {
    edge.status = KrylovStatus::kInconsistent;
  }
  return edge;
}

/// Takes null directions out, one after the other, until there is none left or there are too many;
/// they go to `deflated`.
void deflate(const ScaledUpdate& matrix,
             const FactorOptions& options,
             const Eigen::VectorXd& start,
             SpectrumEnds& ends,
             Eigen::MatrixXd& deflated) {
  const Eigen::Index d = deflated.rows();
  while (ends.null_dimension < d && std::isfinite(ends.largest.value)) {
    const SpectrumEdge edge =
        smallest_end(matrix, deflated, ends.largest.value, options, start, ends.products);
    if (!(edge.value <= ends.null_threshold)) {
      ends.smallest = edge;
      return;
    }
    ++ends.null_dimension;
    append_direction(deflated, edge.vector);
    if (deflated.cols() >= options.max_null) {
      ends.null_complete = false;
      return;
    }
  }
}

}  // namespace

FactoredCovariance::FactoredCovariance(Eigen::MatrixXd covariance,
                                       const FactorOptions& options,
                                       bool wanted)
    : matrix_(std::move(covariance)), options_(options) {
  const Eigen::Index d = matrix_.rows();
  require(d > 0 && matrix_.cols() == d,
          "a covariance must be square and not empty, got {} x {}",
          d,
          matrix_.cols());
  require(matrix_.allFinite() && matrix_.diagonal().minCoeff() >= 0,
          "a covariance must be finite with variances that are not negative");
  inverse_ = matrix_.diagonal().unaryExpr(
      [](double variance) { return variance > 0 ? 1 / std::sqrt(variance) : 0.0; });
  null_.resize(d, 0);
  factored_ = wanted && factorise();
  if (factored_) find_null();
}

bool FactoredCovariance::factorise() {
  constexpr Eigen::Index kBlock = 128;
  constexpr int kAttempts = 3;
  const Eigen::Index d = dimension();
  const Eigen::VectorXd variance = matrix_.diagonal();
  bool done = false;
  double shift = static_cast<double>(d) * kRounding;
  for (int attempt = 0; attempt < kAttempts && !done; ++attempt, shift *= 16) {
    for (Eigen::Index j = 0; j < d; j += kBlock) {
      const Eigen::Index columns = std::min(kBlock, d - j);
      auto corner = matrix_.block(j, j, columns, columns);
      const Eigen::MatrixXd copy = corner;
      corner.triangularView<Eigen::StrictlyLower>() = inverse_.segment(j, columns).asDiagonal() *
                                                      copy.transpose() *
                                                      inverse_.segment(j, columns).asDiagonal();
      for (Eigen::Index i = j + columns; i < d; i += kBlock) {
        const Eigen::Index rows = std::min(kBlock, d - i);
        matrix_.block(i, j, rows, columns) = inverse_.segment(i, rows).asDiagonal() *
                                             matrix_.block(j, i, columns, rows).transpose() *
                                             inverse_.segment(j, columns).asDiagonal();
      }
    }
    matrix_.diagonal().setConstant(1 + shift);
    done = options_.cholesky ? options_.cholesky(matrix_) : eigen_cholesky(matrix_);
    done = done && matrix_.diagonal().allFinite();
    if (!done) matrix_.diagonal() = variance;
  }
  if (!done) return false;
  pivots_ = matrix_.diagonal().cwiseAbs2();
  for (Eigen::Index j = 0; j < d; ++j) matrix_.col(j).tail(d - j - 1) /= matrix_(j, j);
  matrix_.diagonal() = variance;
  return true;
}

void FactoredCovariance::find_null() {
  const Eigen::Index d = dimension();
  const ScaledUpdate correlation(*this, Eigen::VectorXd::Zero(d), inverse_);
  SpectrumEnds ends;
  ends.largest = largest_end(correlation, d, options_, {}, ends.products);
  ends.null_dimension = correlation.null_dimension();
  ends.null_threshold = ends.largest.value * static_cast<double>(d) * kRounding;
  Eigen::MatrixXd found(d, 0);
  deflate(correlation, options_, {}, ends, found);
  null_ = found;
  null_complete_ = ends.null_complete;
}

double FactoredCovariance::squared_norm(const Eigen::VectorXd& v,
                                        const Eigen::VectorXd& scale) const {
  double above = 0, diagonal = 0;
  for (Eigen::Index j = 0; j < dimension(); ++j) {
    const auto entries = matrix_.col(j).head(j).array() + v(j) * v.head(j).array();
    above += std::pow(scale(j), 2) * (entries * scale.head(j).array()).square().sum();
    diagonal += std::pow(scale(j), 4) * std::pow(matrix_(j, j) + v(j) * v(j), 2);
  }
  return 2 * above + diagonal;
}

Eigen::VectorXd FactoredCovariance::multiply(const Eigen::VectorXd& x) const {
  return matrix_.selfadjointView<Eigen::Upper>() * x;
}

Eigen::VectorXd FactoredCovariance::solve(const Eigen::VectorXd& x) const {
  require(factored(), "a covariance without a factor has no inverse");
  const Eigen::Index d = dimension();
  return ScaledUpdate(*this, Eigen::VectorXd::Zero(d), Eigen::VectorXd::Ones(d)).inverse_of_base(x);
}

void FactoredCovariance::whiten(Eigen::MatrixXd& rows) const {
  require(factored() && rows.cols() == dimension(),
          "whitening needs a factor and rows of its width, got {}",
          rows.cols());
  rows = rows * inverse_.asDiagonal();
  rows -= (rows * null_) * null_.transpose();
  matrix_.triangularView<Eigen::UnitLower>().transpose().solveInPlace<Eigen::OnTheRight>(rows);
  rows = rows * pivots_.cwiseSqrt().cwiseInverse().asDiagonal();
}

SpectrumEnds FactoredCovariance::ends(const Eigen::VectorXd& v,
                                      const Eigen::VectorXd& scale,
                                      const SpectrumEnds& start,
                                      double null_threshold) const {
  const Eigen::Index d = dimension();
  require(v.size() == d && scale.size() == d && v.allFinite() && scale.allFinite(),
          "an update and a scaling must be finite and of width {}",
          d);
  require((scale.array() > 0 || inverse_.array() == 0).all(),
          "a scaling must be positive where a feature varies");
  const ScaledUpdate matrix(*this, v, scale);
  SpectrumEnds ends;
  ends.largest = largest_end(matrix, d, options_, start.largest.vector, ends.products);
  ends.null_dimension = matrix.null_dimension();
  ends.null_threshold =
      null_threshold > 0 ? null_threshold : ends.largest.value * static_cast<double>(d) * kRounding;
  if (!factored() || !null_complete_) {
    ends.null_complete = null_complete_;
    if (!factored()) ends.smallest.status = KrylovStatus::kInconsistent;
    return ends;
  }
  Eigen::MatrixXd deflated(d, 0);
  deflate(matrix, options_, start.smallest.vector, ends, deflated);
  return ends;
}

}  // namespace kappascope::linalg
