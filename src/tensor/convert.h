// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <Eigen/Core>
#include <vector>

#include "kappascope/linalg/symmetric_eigen.h"

namespace kappascope::tensor {

/// [n] or any shape, flattened, copied to the host in double.
Eigen::VectorXd to_vector(const at::Tensor& tensor);
/// [r, c], copied to the host in double. Throws for any other number of dimensions.
Eigen::MatrixXd to_matrix(const at::Tensor& tensor);
/// A host vector as a 1-d double tensor that owns its values.
at::Tensor from_vector(const Eigen::VectorXd& vector);

/// Eigenvalues, ascending, of a symmetric matrix by LibTorch's LAPACK, which is several times
/// faster than Eigen's solver for wide layers. For linalg::DenseSolvers::eigenvalues.
Eigen::VectorXd symmetric_eigenvalues(const Eigen::MatrixXd& matrix);
/// The same with orthonormal eigenvectors.
linalg::SymmetricEigen symmetric_eigen(const Eigen::MatrixXd& matrix);

/// Overwrites the lower triangle of a symmetric positive definite matrix by its Cholesky factor, by
/// LibTorch's LAPACK on all cores, and leaves the strict upper one alone; false where the matrix is
/// not positive definite (the lower triangle is then spoilt). For linalg::FactorOptions::cholesky.
/// Memory: 256 columns beside the matrix.
bool cholesky(Eigen::Ref<Eigen::MatrixXd> matrix);

/// Concatenates tensors into one [Σ numel] vector of their type; undefined entries count as zeros
/// of the shape of `like`.
at::Tensor flatten(const std::vector<at::Tensor>& parts, const std::vector<at::Tensor>& like);

}  // namespace kappascope::tensor
