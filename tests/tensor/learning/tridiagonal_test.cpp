// SPDX-License-Identifier: Apache-2.0
#include "tensor/learning/tridiagonal.h"

#include <Eigen/Cholesky>

#include "support/catch.h"
#include "support/matrices.h"

using namespace kappascope;
using namespace kappascope::test;

namespace {

struct Lanczos {
  tensor::Tridiagonal found;
  Eigen::MatrixXd basis;
};

/// By the textbook, with every vector orthogonalised against all before it.
Lanczos lanczos(const Eigen::MatrixXd& matrix, const Eigen::VectorXd& start, Eigen::Index steps) {
  Lanczos result{{start.squaredNorm(), Eigen::VectorXd(steps), Eigen::VectorXd(steps)},
                 Eigen::MatrixXd(start.size(), steps)};
  Eigen::VectorXd v = start.normalized();
  for (Eigen::Index j = 0; j < steps; ++j) {
    result.basis.col(j) = v;
    Eigen::VectorXd next = matrix * v;
    result.found.diagonal(j) = v.dot(next);
    for (int pass = 0; pass < 2; ++pass)
      next -= result.basis.leftCols(j + 1) * (result.basis.leftCols(j + 1).transpose() * next);
    result.found.beside(j) = j + 1 == start.size() ? 0 : next.norm();
    v = next.normalized();
  }
  return result;
}

const Eigen::Index kD = 20;

Eigen::VectorXd solved(const Eigen::MatrixXd& matrix, double lambda, const Eigen::VectorXd& v) {
  Eigen::MatrixXd shifted = matrix;
  shifted.diagonal().array() += lambda;
  return shifted.ldlt().solve(v);
}

}  // namespace

TEST_CASE("the true value lies between the two quadratures, which close at the last step") {
  const Eigen::MatrixXd matrix = with_spectrum(geometric_spectrum(kD, 1e4), 1);
  const Eigen::VectorXd v = gaussian_matrix(kD, 1, 2);
  const Eigen::ArrayXd lambdas = Eigen::pow(10.0, Eigen::ArrayXd::LinSpaced(12, 4, -3));
  double gap_before = INFINITY;
  for (const Eigen::Index steps : {1, 3, 8, 14, 20}) {
    const auto curve = tensor::curve_of(lanczos(matrix, v, steps).found, lambdas, 1e-12);
    for (Eigen::Index i = 0; i < lambdas.size(); ++i) {
      const double exact = v.dot(solved(matrix, lambdas(i), v));
      CHECK(curve.low(i) <= exact * (1 + 1e-9));
      CHECK(curve.high(i) >= exact * (1 - 1e-9));
    }
    const double gap = (curve.high / curve.low).maxCoeff();
    CHECK(gap < gap_before);
    gap_before = gap;
  }
  CHECK(gap_before == Approx(1).epsilon(1e-9));
}

TEST_CASE("a form between two vectors is exact at the last step") {
  const Eigen::MatrixXd matrix = with_spectrum(geometric_spectrum(kD, 100), 3);
  const Eigen::VectorXd u = gaussian_matrix(kD, 1, 4), v = gaussian_matrix(kD, 1, 5);
  const Eigen::ArrayXd lambdas = Eigen::pow(10.0, Eigen::ArrayXd::LinSpaced(8, 2, -2));
  const auto [found, basis] = lanczos(matrix, v, kD);
  const Eigen::VectorXd products = basis.transpose() * u;
  const auto curve = tensor::curve_of(found, lambdas, products);
  for (Eigen::Index i = 0; i < lambdas.size(); ++i)
    CHECK(curve.low(i) == Approx(u.dot(solved(matrix, lambdas(i), v))).epsilon(1e-8));
  CHECK(curve.total == Approx(u.dot(v)));
}

TEST_CASE("a matrix with a null space has an upper bound, and Ritz pairs") {
  Eigen::VectorXd spectrum = geometric_spectrum(kD, 10);
  spectrum.head(5).setZero();
  const Eigen::MatrixXd matrix = with_spectrum(spectrum, 6);
  const Eigen::VectorXd v = gaussian_matrix(kD, 1, 7);
  const Eigen::ArrayXd lambdas = Eigen::pow(10.0, Eigen::ArrayXd::LinSpaced(8, 1, -3));
  const auto curve = tensor::curve_of(lanczos(matrix, v, 6).found, lambdas, 1e-12);
  for (Eigen::Index i = 0; i < lambdas.size(); ++i) {
    const double exact = v.dot(solved(matrix, lambdas(i), v));
    CHECK(curve.low(i) <= exact * (1 + 1e-9));
    CHECK(curve.high(i) >= exact * (1 - 1e-9));
  }
  const auto [found, basis] = lanczos(matrix, v, 10);
  const auto pairs = tensor::ritz_pairs(found);
  const Eigen::VectorXd top = basis * pairs.vectors.col(9);
  CHECK((matrix * top - pairs.values(9) * top).norm() <= 1e-3 * pairs.values(9));
}
