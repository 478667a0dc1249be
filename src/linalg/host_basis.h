// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <utility>

#include "kappascope/linalg/lanczos.h"
#include "kappascope/linalg/random.h"

namespace kappascope::linalg {

/// The columns of a KrylovBasis on the host, in double.
class HostBasis {
 public:
  /// `op` must outlive the basis.
  explicit HostBasis(const SymmetricOperator& op);
  explicit HostBasis(const SymmetricOperator&&) = delete;

  [[nodiscard]] Eigen::Index size() const { return op_.size; }
  void load(Eigen::VectorXd vector) { work_ = std::move(vector); }
  void random(std::uint64_t seed) { work_ = Random(seed).normal_vector(op_.size); }
  void multiply(Eigen::Index i);
  [[nodiscard]] Eigen::VectorXd project(Eigen::Index count) const;
  double subtract(const Eigen::VectorXd& coefficients);
  [[nodiscard]] Eigen::VectorXd subtract_project(const Eigen::VectorXd& coefficients) {
    subtract(coefficients);
    return project(coefficients.size());
  }
  [[nodiscard]] double dot(Eigen::Index i) const { return columns_.col(i).dot(work_); }
  [[nodiscard]] double norm() const { return work_.norm(); }
  void axpy(double factor, Eigen::Index i) { work_ += factor * columns_.col(i); }
  void store(Eigen::Index i, double factor);
  void rotate(const Eigen::MatrixXd& y);
  void swap(Eigen::Index i, Eigen::Index j) { columns_.col(i).swap(columns_.col(j)); }
  [[nodiscard]] Eigen::MatrixXd columns(Eigen::Index count) const {
    return columns_.leftCols(count);
  }

 private:
  const SymmetricOperator& op_;
  Eigen::MatrixXd columns_;
  Eigen::VectorXd work_, product_;
};

}  // namespace kappascope::linalg
