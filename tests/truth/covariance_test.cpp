// SPDX-License-Identifier: Apache-2.0
// Covariance estimators of others on rows that anybody can write down.
#include <Eigen/Core>
#include <cmath>

#include "kappascope/linalg/features/kappa.h"
#include "support/catch.h"
#include "support/matrices.h"

using namespace kappascope::linalg;
using namespace kappascope::test;

namespace {

double condition_number(const Eigen::MatrixXd& matrix) {
  const Eigen::VectorXd values = dense_eigenvalues(matrix);
  return values(values.size() - 1) / values(0);
}

/// Fifteen rows of three features, five of each on an axis of its own.
RowMatrixD on_axes(const Eigen::Matrix<double, 3, 5>& lengths) {
  RowMatrixD rows = RowMatrixD::Zero(15, 3);
  for (Eigen::Index axis = 0; axis < 3; ++axis)
    rows.col(axis).segment(5 * axis, 5) = lengths.row(axis).transpose();
  return rows;
}

/// x_ij = Σ_k≥j u_ik^(k+1) with u_ik the fractional part of (i+1) √p_k and p the primes from 2 on:
/// skewed, correlated, of different scale.
RowMatrixD of_primes(Eigen::Index n) {
  const double primes[] = {2, 3, 5, 7, 11, 13};
  RowMatrixD rows(n, 6);
  for (Eigen::Index i = 0; i < n; ++i) {
    double sum = 0;
    for (Eigen::Index k = 5; k >= 0; --k) {
      const double product = static_cast<double>(i + 1) * std::sqrt(primes[k]);
      sum += std::pow(product - std::floor(product), static_cast<double>(k + 1));
      rows(i, k) = sum;
    }
  }
  return rows;
}

}  // namespace

// The two matrices that Ledoit and Wolf's own MATLAB code gives, as kept in the tests of scikit-rmt
// (AlejandroSantorum/scikit-rmt, skrmt/covariance/tests/test_linear_shr.py) with 15 decimals.
TEST_CASE("the shrunk kappa is that of Ledoit and Wolf's own code") {
  Eigen::Matrix<double, 3, 5> lengths;
  lengths << 2, 2, 2, 1, 1,  //
      1, 1, 1, 1, 1,         //
      1, 1, 1, 1, 2;
  Eigen::Matrix3d shrunk;
  shrunk << 0.571596585433017, -0.119074762494837, -0.142889714993804,  //
      -0.119074762494837, 0.285817155445408, -0.089306071871128,        //
      -0.142889714993804, -0.089306071871128, 0.387030703566020;
  CHECK(kappa(on_axes(lengths)).sigma.shrunk == Approx(condition_number(shrunk)).epsilon(1e-12));
  CHECK(kappa(on_axes(lengths)).sigma.shrunk == Approx(4.20229497).epsilon(1e-8));

  lengths << 5, 4, 3, 2, 1,  //
      3, 4, 5, 1, 10,        //
      1, 2, 3, 4, 5;
  RowMatrixD rows = on_axes(lengths);
  shrunk << 4.157119427352015, -0.175394418448355, -0.114387664205449,  //
      -0.175394418448355, 4.734650034184860, -0.175394418448355,        //
      -0.114387664205449, -0.175394418448355, 4.157119427352015;
  CHECK(kappa(rows).sigma.shrunk == Approx(condition_number(shrunk)).epsilon(1e-12));
  CHECK(kappa(rows).sigma.shrunk == Approx(1.21483356).epsilon(1e-8));
}

// EmpiricalCovariance and LedoitWolf of scikit-learn 1.9.1, fitted to the same rows, and κ by
// NumPy.
TEST_CASE("kappa and its shrunk form are those of scikit-learn's estimators") {
  const KappaEstimate few = kappa(of_primes(300)).sigma;
  CHECK(few.value == Approx(70.239077467176).epsilon(1e-11));
  CHECK(few.shrunk == Approx(59.745732982354).epsilon(1e-10));
  // Of more rows than are kept: the fourth moment of the kept ones alone is not that of all.
  const KappaEstimate many = kappa(of_primes(2000)).sigma;
  CHECK(many.value == Approx(69.889058142357).epsilon(1e-11));
  CHECK(many.shrunk == Approx(67.817618252838).epsilon(1e-10));
}
