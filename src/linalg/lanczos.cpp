// SPDX-License-Identifier: Apache-2.0
#include "kappascope/linalg/lanczos.h"

#include <memory>

#include "kappascope/core/error.h"

namespace kappascope::linalg {

SymmetricOperator dense_operator(const Eigen::MatrixXd& matrix) {
  require(matrix.rows() == matrix.cols(),
          "a symmetric operator must be square, got ",
          matrix.rows(),
          " x ",
          matrix.cols());
  const auto copy = std::make_shared<const Eigen::MatrixXd>(matrix);
  return {.size = matrix.rows(), .apply = [copy](const Eigen::VectorXd& x, Eigen::VectorXd& y) {
            y.noalias() = *copy * x;
          }};
}

const char* to_string(KrylovStatus status) {
  switch (status) {
    case KrylovStatus::kConverged:
      return "converged";
    case KrylovStatus::kMaxProducts:
      return "max_products";
    case KrylovStatus::kNonFinite:
      return "non_finite";
    case KrylovStatus::kInconsistent:
      return "inconsistent";
  }
  return "?";
}

HostBasis::HostBasis(const SymmetricOperator& op)
    : op_(op), columns_(op.size, 0), product_(op.size) {
  require(static_cast<bool>(op.apply), "an operator needs a product");
}

void HostBasis::multiply(Eigen::Index i) {
  work_ = columns_.col(i);
  op_.apply(work_, product_);
  require(product_.size() == op_.size,
          "an operator of order ",
          op_.size,
          " returned a vector of width ",
          product_.size());
  work_.swap(product_);
}

Eigen::VectorXd HostBasis::project(Eigen::Index count) const {
  return columns_.leftCols(count).transpose() * work_;
}

double HostBasis::subtract(const Eigen::VectorXd& coefficients) {
  work_.noalias() -= columns_.leftCols(coefficients.size()) * coefficients;
  return work_.norm();
}

void HostBasis::store(Eigen::Index i, double factor) {
  if (i >= columns_.cols()) {
    columns_.conservativeResize(Eigen::NoChange,
                                std::max<Eigen::Index>(i + 1, 2 * columns_.cols()));
  }
  columns_.col(i) = factor * work_;
}

void HostBasis::rotate(const Eigen::MatrixXd& y) {
  columns_.leftCols(y.cols()) = (columns_.leftCols(y.rows()) * y).eval();
}

LanczosResult lanczos(const SymmetricOperator& op, const LanczosOptions& options) {
  const Eigen::Index starts = options.start.size() == 0 ? 0 : options.start.cols();
  require(starts == 0 || options.start.rows() == op.size,
          "start vectors of width ",
          options.start.rows(),
          " do not fit an operator of order ",
          op.size);
  require(options.start.allFinite(), "a start vector has NaN or infinity in it");
  HostBasis basis(op);
  LanczosResult result = lanczos_in(basis, op.product_noise, options, starts, [&](Eigen::Index i) {
    basis.load(options.start.col(i));
  });
  if (options.vectors) result.eigenvectors = basis.columns(result.eigenvalues.size());
  return result;
}

}  // namespace kappascope::linalg
