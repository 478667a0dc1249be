// SPDX-License-Identifier: Apache-2.0
// Matrices whose answers are known, and dense references that share no code with what they test.
#pragma once

#include <Eigen/Core>
#include <cstdint>

namespace kappascope::test {

/// [n, n] orthogonal, uniform (Haar): the Q of a Gaussian matrix, signs of R's diagonal made
/// positive.
Eigen::MatrixXd random_orthogonal(Eigen::Index n, std::uint64_t seed);

/// Q diag(spectrum) Qᵀ with a random orthogonal Q, symmetric to the last bit.
Eigen::MatrixXd with_spectrum(const Eigen::VectorXd& spectrum, std::uint64_t seed);

/// `n` values from 1 to `kappa`, in equal ratios, ascending.
Eigen::VectorXd geometric_spectrum(Eigen::Index n, double kappa);

/// [rows, columns] independent standard normals.
Eigen::MatrixXd gaussian_matrix(Eigen::Index rows, Eigen::Index columns, std::uint64_t seed);

/// Eigenvalues, ascending, by Eigen's dense solver; only the lower triangle is read.
Eigen::VectorXd dense_eigenvalues(const Eigen::MatrixXd& symmetric);

}  // namespace kappascope::test
