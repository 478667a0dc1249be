// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/proposition1/regression_cases.h"

#include <fmt/format.h>

#include <utility>

#include "theory/exact/linalg.h"
#include "theory/tools/random.h"

namespace kappascope::theory {
namespace {

IntegerMatrix residual(const RegressionCase& one, const IntegerMatrix& w, const IntegerVector& b) {
  return (one.phi.plus_row(b.transpose())) * w - one.target;
}

IntegerMatrix weight_of(const IntegerVector& parameters, Index d, Index m) {
  return parameters.segment(0, d * m).reshaped(m, d).transpose();
}

IntegerMatrix draw_matrix(Index rows, Index cols, Random& random) {
  return IntegerMatrix::drawn(rows, cols, [&] { return random.integer(-3, 3); });
}

/// A case with the given rows of residuals, which choose the targets.
RegressionCase with_residuals(IntegerMatrix phi,
                              IntegerMatrix weight,
                              IntegerVector bias,
                              const IntegerMatrix& residuals) {
  RegressionCase one{std::move(phi), std::move(weight), std::move(bias), {}};
  one.target = (one.phi.plus_row(one.bias.transpose())) * one.weight - residuals;
  return one;
}

/// An integer vector of the null space of W, or zero where that is trivial.
IntegerVector null_vector(const IntegerMatrix& weight) {
  const Matrix<Rational> basis = null_basis(exact(weight));
  IntegerVector vector = IntegerVector::zero(weight.cols());
  if (basis.cols() == 0) return vector;
  // The basis of W (small integers) has denominators that divide a product of its minors.
  for (std::int64_t scale = 1; scale <= 1000; ++scale) {
    bool whole = true;
    for (Index i = 0; i < vector.size(); ++i) {
      const double entry = (basis(i, 0) * Rational(scale)).to_double();
      vector(i) = static_cast<std::int64_t>(entry < 0 ? entry - 0.5 : entry + 0.5);
      whole = whole && Rational(vector(i)) == basis(i, 0) * Rational(scale);
    }
    if (whole) return vector;
  }
  return IntegerVector::zero(weight.cols());
}

IntegerMatrix draw_weight(Index d, Index m, Random& random) {
  IntegerMatrix weight = draw_matrix(d, m, random);
  const auto kind = random.integer(0, 5);
  if (kind == 0) weight.set_zero();
  if (kind == 1 && m > 1) weight.col(m - 1) = weight.col(0);
  return weight;
}

RegressionCase draw_stationary(Random& random) {
  const auto n = random.integer(1, 4);
  const auto d = random.integer(1, 3), m = random.integer(1, 3);
  IntegerMatrix phi = draw_matrix(n, d, random);
  const IntegerMatrix weight = draw_weight(d, m, random);
  IntegerVector bias = draw_matrix(d, 1, random);
  if (random.integer(0, 2) == 0) {
    phi.row(n - 1) = -n * bias.transpose();
    phi.row(n - 1) -= phi.middle_rows(0, n - 1).sum_of_rows();  // now μ = -b
  }
  IntegerMatrix residuals = draw_matrix(n, m, random);
  residuals.row(n - 1) = -residuals.middle_rows(0, n - 1).sum_of_rows();
  if (random.integer(0, 1) == 0) residuals = residuals.plus_row(null_vector(weight).transpose());
  return with_residuals(std::move(phi), weight, std::move(bias), residuals);
}

RegressionCase one_sample(std::int64_t phi,
                          const IntegerMatrix& weight,
                          const IntegerMatrix& residual) {
  return with_residuals(IntegerMatrix::ones(1, weight.rows()) * phi,
                        weight,
                        IntegerVector::zero(weight.rows()),
                        residual);
}

}  // namespace

Matrix<Rational> exact(const IntegerMatrix& a) {
  Matrix<Rational> out(a.rows(), a.cols());
  for (Index i = 0; i < a.size(); ++i) out(i) = a(i);
  return out;
}

Vector<Rational> RegressionCase::mu() const {
  return column_mean(exact(phi));
}

Matrix<Rational> RegressionCase::sigma() const {
  return covariance(exact(phi));
}

Vector<Rational> RegressionCase::shifted_mean() const {
  return mu() + exact(bias);
}

Vector<Rational> RegressionCase::mean_residual() const {
  return column_mean(exact(residual(*this, weight, bias)));
}

std::string RegressionCase::text() const {
  return fmt::format(
      "φ = {}, W_d = {}, b = {}, t = {}", exact(phi), exact(weight), exact(bias), exact(target));
}

std::int64_t RegressionCase::bias_loss(const IntegerVector& parameters) const {
  const auto w = weight_of(parameters, d_ff(), d_model());
  return residual(*this, w, parameters.segment(weight.size(), d_ff())).squared_norm();
}

std::int64_t RegressionCase::intercept_loss(const IntegerVector& parameters) const {
  const auto w = weight_of(parameters, d_ff(), d_model());
  const IntegerMatrix output = phi * w - target;
  return output.plus_row(parameters.segment(weight.size(), d_model()).transpose()).squared_norm();
}

IntegerVector RegressionCase::bias_parameters() const {
  return below(weight.transpose().reshaped(), bias);
}

IntegerVector RegressionCase::intercept_parameters() const {
  return below(weight.transpose().reshaped(), IntegerVector(d_model()));
}

std::vector<RegressionCase> stationary_cases(std::uint64_t seed, int draws) {
  const IntegerMatrix zero = IntegerMatrix::zero(1, 1), one = IntegerMatrix::ones(1, 1);
  const IntegerMatrix wide{{1, 0}}, tall{{1}, {1}};
  std::vector<RegressionCase> cases;
  cases.push_back(one_sample(1, one, zero));
  cases.push_back(one_sample(1, tall, zero));
  cases.push_back(one_sample(1, wide, IntegerMatrix::zero(1, 2)));
  cases.push_back(one_sample(1, zero, zero));
  Random random(seed);
  for (int i = 0; i < draws; ++i) cases.push_back(draw_stationary(random));
  return cases;
}

std::vector<RegressionCase> unconstrained_cases(std::uint64_t seed, int draws) {
  const IntegerMatrix one = IntegerMatrix::ones(1, 1);
  std::vector<RegressionCase> cases{one_sample(1, one, IntegerMatrix::zero(1, 1)),
                                    one_sample(1, one, one)};
  Random random(seed);
  for (int i = 0; i < draws; ++i) {
    const auto n = random.integer(1, 4);
    const auto d = random.integer(1, 3), m = random.integer(1, 3);
    const IntegerMatrix weight = draw_weight(d, m, random);
    IntegerMatrix phi = draw_matrix(n, d, random);
    if (i % 4 == 0) phi = IntegerMatrix::ones(n) * phi.row(0);  // constant features: Σ = 0
    cases.push_back({phi, weight, draw_matrix(d, 1, random), draw_matrix(n, m, random)});
  }
  return cases;
}

Matrix<Rational> polynomial_hessian(const std::function<std::int64_t(const IntegerVector&)>& f,
                                    const IntegerVector& at) {
  const std::int64_t centre = f(at);
  // Twelve times the second derivative along a direction.
  const auto second = [&](const IntegerVector& step) {
    return -f(at + 2 * step) + 16 * f(at + step) - 30 * centre + 16 * f(at - step) -
           f(at - 2 * step);
  };
  const Index n = at.size();
  Matrix<Rational> hessian(n, n);
  for (Index i = 0; i < n; ++i) {
    const IntegerVector along = IntegerVector::unit(n, i);
    hessian(i, i) = Rational(second(along), std::int64_t{12});
    for (Index j = 0; j < i; ++j) {
      const IntegerVector other = IntegerVector::unit(n, j);
      hessian(i, j) = Rational(second(along + other) - second(along - other), std::int64_t{48});
      hessian(j, i) = hessian(i, j);
    }
  }
  return hessian;
}

}  // namespace kappascope::theory
