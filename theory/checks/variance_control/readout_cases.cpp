// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/variance_control/readout_cases.h"

#include <fmt/format.h>

#include <utility>

#include "theory/exact/linalg.h"
#include "theory/tools/draws.h"

namespace kappascope::theory {
namespace {

Matrix<Rational> draw_weight(Index d, Index m, Random& random) {
  Matrix<Rational> weight = draw_matrix(d, m, 3, random);
  const auto kind = random.integer(0, 5);
  if (kind == 0) weight.set_zero();
  if (kind == 1 && m > 1) weight.col(m - 1) = weight.col(0);
  if (kind == 2 && d > 1) weight.row(d - 1) = weight.row(0) * Rational(2);
  return weight;
}

Matrix<Rational> draw_features(Index n, Index d, Random& random) {
  Matrix<Rational> phi = draw_matrix(n, d, 3, random);
  const auto kind = random.integer(0, 7);
  if (kind == 0) phi = Vector<Rational>::ones(n) * phi.row(0);
  if (kind == 1) phi.row(n - 1) -= phi.sum_of_rows();  // mean zero
  return phi;
}

/// Rows that add up to zero.
Matrix<Rational> draw_centred(Index n, Index m, Random& random) {
  Matrix<Rational> rows = draw_matrix(n, m, 3, random);
  rows.row(n - 1) -= rows.sum_of_rows();
  return rows;
}

/// The targets that leave these residuals.
ReadoutCase with_residuals(Matrix<Rational> phi,
                           Matrix<Rational> weight,
                           Vector<Rational> bias,
                           const Matrix<Rational>& residuals) {
  ReadoutCase one{std::move(phi), std::move(weight), std::move(bias), residuals};
  one.target.set_zero();
  one.target = one.residuals() - residuals;
  return one;
}

Matrix<Rational> number(std::int64_t value) {
  return Matrix<Rational>{{value}};
}

/// Each row of `phi` with each row of `noise`.
ReadoutCase crossed(const Matrix<Rational>& phi,
                    Matrix<Rational> weight,
                    Vector<Rational> bias,
                    const Matrix<Rational>& noise) {
  Matrix<Rational> all_phi(phi.rows() * noise.rows(), phi.cols());
  Matrix<Rational> residuals(all_phi.rows(), noise.cols());
  for (Index i = 0; i < residuals.rows(); ++i) {
    all_phi.row(i) = phi.row(i % phi.rows());
    residuals.row(i) = noise.row(i / phi.rows());
  }
  return with_residuals(all_phi, std::move(weight), std::move(bias), residuals);
}

}  // namespace

Vector<Rational> ReadoutCase::mu() const {
  return column_mean(phi);
}
Matrix<Rational> ReadoutCase::sigma() const {
  return covariance(phi);
}
Vector<Rational> ReadoutCase::mean_target() const {
  return column_mean(target);
}
Vector<Rational> ReadoutCase::intercept() const {
  return mean_target() - weight.transpose() * mu();
}
Matrix<Rational> ReadoutCase::residuals() const {
  const Matrix<Rational> y = phi.plus_row(bias.transpose());
  return y * weight - target;
}
Sizes ReadoutCase::sizes() const {
  return {{"n", phi.rows()}, {"d_ff", weight.rows()}, {"d_model", weight.cols()}};
}
std::string ReadoutCase::text() const {
  return fmt::format("φ = {}, W_d = {}, b = {}, T = {}", phi, weight, bias, target);
}

Rational ReadoutCase::loss() const {
  return residuals().squared_norm() / Rational(2 * phi.rows());
}

std::vector<ReadoutCase> readout_cases(std::uint64_t seed, int draws) {
  const Vector<Rational> no_bias = Vector<Rational>::zero(1);
  const Matrix<Rational> wide = rows({{1, 0}});
  const Matrix<Rational> across = rows({{0, 1}});
  std::vector<ReadoutCase> cases;
  for (const std::int64_t target : {0, 2, 1}) {
    cases.push_back({number(1), number(1), no_bias, number(target)});
  }
  cases.push_back({number(1), number(0), no_bias, number(1)});
  cases.push_back({number(1), wide, no_bias, across});
  Random random(seed);
  for (int i = 0; i < draws; ++i) {
    const auto n = random.integer(1, 4), d = random.integer(1, 3), m = random.integer(1, 3);
    const auto weight = draw_weight(d, m, random);
    const auto phi = draw_features(n, d, random);
    const auto target = i % 4 == 0 ? draw_centred(n, m, random) : draw_matrix(n, m, 3, random);
    cases.push_back({phi, weight, Vector<Rational>::zero(d), target});
  }
  return cases;
}

std::vector<ReadoutCase> optimal_cases(std::uint64_t seed, int draws) {
  const Matrix<Rational> constant = column({1, 1}), noise = column({-1, 1});
  std::vector<ReadoutCase> cases;
  for (const std::int64_t b : {0, -1}) {
    cases.push_back(with_residuals(constant, number(1), number(b).col(0), noise));
  }
  Random random(seed);
  for (int i = 0; i < draws; ++i) {
    const auto n = random.integer(2, 4), d = random.integer(1, 3), m = random.integer(1, 3);
    const auto phi = draw_features(n, d, random);
    const auto weight = draw_weight(d, m, random);
    Vector<Rational> bias = draw_vector(d, 3, random);
    if (i % 4 == 0) bias = -phi.sum_of_rows().transpose() / Rational(n);
    Matrix<Rational> residuals = draw_centred(n, m, random);
    if (i % 4 == 1) residuals.set_zero();
    cases.push_back(with_residuals(phi, weight, bias, residuals));
  }
  return cases;
}

std::vector<ReadoutCase> independent_cases(std::uint64_t seed, int draws) {
  const Matrix<Rational> noise = column({-1, 1});
  std::vector<ReadoutCase> cases;
  for (const std::int64_t b : {-1, 1, 0}) {
    cases.push_back(crossed(number(1), number(1), number(b).col(0), noise));
  }
  Random random(seed);
  for (int i = 0; i < draws; ++i) {
    const auto n = random.integer(1, 3), d = random.integer(1, 3), m = random.integer(1, 2);
    const auto phi = draw_features(n, d, random);
    const auto weight = draw_weight(d, m, random);
    Vector<Rational> bias = draw_vector(d, 3, random);
    if (i % 2 == 0) {
      const Vector<Rational> sum = phi.sum_of_rows().transpose();
      bias = sum * Rational(random.integer(-5, 2), std::int64_t{2} * n);  // c from -3/2 to 2
    }
    cases.push_back(crossed(phi, weight, bias, draw_centred(random.integer(2, 3), m, random)));
  }
  return cases;
}

}  // namespace kappascope::theory
