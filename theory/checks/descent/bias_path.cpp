// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/descent/bias_path.h"

#include <fmt/format.h>

#include <vector>

#include "theory/checks/descent/joint.h"
#include "theory/checks/proposition1/block_hessian.h"
#include "theory/exact/enclosure.h"
#include "theory/exact/linalg.h"
#include "theory/tools/conditions.h"
#include "theory/tools/draws.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr int kDraws = 600;

/// Every other case has a mean that W sees as a whole, every third a target that W does not see.
ReadoutCase draw_case(int index, Random& random) {
  const auto n = random.integer(1, 4), d = random.integer(1, 3), m = random.integer(1, 3);
  ReadoutCase one{draw_matrix(n, d, 3, random),
                  draw_matrix(d, m, 3, random),
                  draw_vector(d, 3, random),
                  draw_matrix(n, m, 3, random)};
  if (index % 5 == 0) one.weight = draw_rank_one(d, m, 2, random);
  if (index % 2 == 0) {
    const Vector<Rational> seen = one.weight * draw_vector(m, 2, random);
    one.bias = seen - one.mu();
  }
  if (index % 3 == 0) {
    one.target = centred_rows(one.target);
    const Matrix<Rational> unseen = null_basis(one.weight);
    if (unseen.cols() > 0) one.target = one.target.plus_row(unseen.col(0).transpose());
  }
  return one;
}

std::vector<ReadoutCase> bias_cases(std::uint64_t seed) {
  const Matrix<Rational> one = rows({{1}}), zero = rows({{0}});
  std::vector<ReadoutCase> cases{{one, one, column({0}), zero},
                                 {one, one, column({0}), one},
                                 {rows({{1, 1}}), rows({{1}, {0}}), column({0, 0}), zero}};
  Random random(seed);
  for (int i = 0; i < kDraws; ++i) cases.push_back(draw_case(i, random));
  return cases;
}

Vector<Rational> mean_output(const ReadoutCase& one) {
  return one.weight.transpose() * shifted_mean(one);
}

/// One step of size one on the gradient, summed over the samples.
ReadoutCase step_in_weight(ReadoutCase one) {
  const Matrix<Rational> inputs = one.phi.plus_row(one.bias.transpose());
  one.weight -= inputs.transpose() * one.residuals() / one.phi.rows();
  return one;
}

ReadoutCase step_in_bias(ReadoutCase one) {
  const Matrix<Rational> back = one.residuals() * one.weight.transpose();
  one.bias -= column_mean(back);
  return one;
}

/// Where descent on b ends: b + W y with W(e + yᵀWᵀW)ᵀ = 0, which has a solution.
Vector<Rational> resting_bias(const ReadoutCase& one) {
  const Matrix<Rational> square = one.weight.transpose() * one.weight;
  const Vector<Rational> pull = one.weight * mean_residual(one);
  const auto y = solve(one.weight * square, -pull);
  return one.bias + one.weight * y.value();
}

}  // namespace

Vector<Rational> shifted_mean(const ReadoutCase& one) {
  return one.mu() + one.bias;
}

Vector<Rational> mean_residual(const ReadoutCase& one) {
  return column_mean(one.residuals());
}

Verdict check_mean_moves(const MeanMovesFormula& formula, std::uint64_t seed) {
  Tally tally;
  for (const auto& one : bias_cases(seed)) {
    const Vector<Rational> before = mean_output(one);
    const Vector<Rational> by_weight = mean_output(step_in_weight(one)) - before;
    const Vector<Rational> by_bias = mean_output(step_in_bias(one)) - before;
    const auto stated = formula(one);
    tally.sizes(one.sizes());
    tally.record(by_weight == stated.by_weight && by_bias == stated.by_bias, [&] {
      return Witness{fmt::format("{}: a step of W_d moves the mean output by {}, the statement "
                                 "says {}; one of b by {}, the statement says {}",
                                 one,
                                 by_weight,
                                 stated.by_weight,
                                 by_bias,
                                 stated.by_bias),
                     by_bias(0).to_double(),
                     stated.by_bias(0).to_double()};
    });
  }
  return tally.verdict("move of the mean output by b", "the formula", "exact");
}

MeanMoves derived_moves(const ReadoutCase& one) {
  const Vector<Rational> nu = shifted_mean(one), e = mean_residual(one);
  const Matrix<Rational> square = one.weight.transpose() * one.weight;
  // Cov(φ, R), a row an output.
  const Matrix<Rational> covariance =
      one.residuals().transpose() * centred_rows(one.phi) / one.phi.rows();
  const Vector<Rational> shared = covariance * nu;
  return {-(shared + e * nu.dot(nu)), -(square * e)};
}

Verdict check_centres(const ReadoutPrediction& says, std::uint64_t seed) {
  ConditionTally tally;
  for (const auto& one : bias_cases(seed)) {
    auto end = one;
    end.bias = resting_bias(one);
    const bool centred = is_zero(shifted_mean(end));
    tally.sizes(one.sizes());
    tally.record(centred, says(one), [&] {
      return Witness{
          fmt::format("{}: descent on b ends at {}, μ + b at {}", one, end.bias, shifted_mean(end)),
          shifted_mean(end).squared_norm().to_double(),
          says(one).value_or(centred) ? 0.0 : 1.0};
    });
  }
  return tally.verdict("‖μ + b‖² at the end", "0 where stated", "exact");
}

std::optional<bool> mean_in_range(const ReadoutCase& one) {
  const Vector<Rational> seen = one.weight * one.mean_target();
  return is_zero(seen) && solve(one.weight, shifted_mean(one)).has_value();
}

Verdict check_conditions(const Conditions& stated) {
  // Four samples with μ = (10, 0), Σ = I; all residuals zero.
  const IntegerMatrix phi{{11, 1}, {11, -1}, {9, 1}, {9, -1}}, identity{{1, 0}, {0, 1}};
  const IntegerVector minus_mu = IntegerMatrix{{-10, 0}}.transpose();
  const RegressionCase one{phi, identity, minus_mu, phi.plus_row(minus_mu.transpose())};
  GramCase moments;
  moments.lambda = column({1, 1});
  moments.sigma = one.sigma();
  moments.mu = moments.mean = one.mu();
  Tally tally;
  const auto compare = [&](const char* what,
                           const Matrix<Rational>& hessian,
                           const Rational& kappa) {
    const auto found = kappa_enclosure(hessian);
    constexpr double kDigits = 4e-5;  // half a unit of 10,402
    const double wanted = kappa.to_double();
    const bool same = found.lower.to_double() <= wanted * (1 + kDigits) &&
                      found.upper.to_double() >= wanted * (1 - kDigits);
    tally.record(same, [&] {
      return Witness{
          fmt::format("{}: κ of {} is {}", what, hessian, found.text(1)), found.middle(), wanted};
    });
  };
  compare("W_d alone", moments.second_moment(), stated.without);
  compare("(W_d, b) at b = -μ", joint_hessian(one), stated.with_bias);
  compare("(W_d, c)", joint_hessian_of(moments), stated.with_intercept);
  return tally.verdict("κ", "κ stated", "exact, by rational bounds");
}

}  // namespace kappascope::theory
