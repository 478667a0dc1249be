// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/variance_control/intercept.h"

#include <fmt/format.h>

#include "theory/checks/variance_control/quadratic.h"
#include "theory/exact/linalg.h"
#include "theory/tools/conditions.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr int kDraws = 2000;

/// The loss over b at fixed W.
Quadratic loss_of_bias(const ReadoutCase& one) {
  return quadratic_of(
      [&](const Vector<Rational>& b) {
        auto moved = one;
        moved.bias = b;
        return moved.loss();
      },
      one.bias.size());
}

/// The loss of the best free intercept on Z, which no b can go below.
Rational least_loss(const ReadoutCase& one) {
  const Matrix<Rational> base = one.phi * one.weight - one.target;
  const auto over_c = quadratic_of(
      [&](const Vector<Rational>& c) -> Rational {
        return base.plus_row(c.transpose()).squared_norm() / Rational(2 * base.rows());
      },
      base.cols());
  return over_c.at(over_c.stationary_point().value());
}

}  // namespace

Verdict check_intercept_solved(const ReadoutPrediction& says, std::uint64_t seed) {
  ConditionTally tally;
  for (const auto& one : readout_cases(seed, kDraws)) {
    // A loss has a minimum, and all of its minimisers give the same bW.
    const Vector<Rational> best = loss_of_bias(one).stationary_point().value();
    const Vector<Rational> made = one.weight.transpose() * best, wanted = one.intercept();
    tally.sizes(one.sizes());
    tally.record(made == wanted, says(one), [&] {
      return Witness{fmt::format("φ = {}, W_d = {}, T = {}: the best b, {}, gives bW_d = {}, and "
                                 "E T - μW_d = {}",
                                 one.phi,
                                 one.weight,
                                 one.target,
                                 best,
                                 made,
                                 wanted),
                     made(0).to_double(),
                     wanted(0).to_double()};
    });
  }
  return tally.verdict("bW_d at the best b", "E T - μW_d", "exact");
}

std::optional<bool> intercept_in_row_space(const ReadoutCase& one) {
  return solve(one.weight.transpose(), one.intercept()).has_value();
}

Verdict check_excess_loss(const ExcessFormula& formula, std::uint64_t seed) {
  Tally tally;
  for (const auto& one : readout_cases(seed, kDraws / 2)) {
    const auto of_bias = loss_of_bias(one);
    const Rational actual = of_bias.at(of_bias.stationary_point().value()) - least_loss(one);
    const Rational stated = formula(one);
    tally.sizes(one.sizes());
    tally.compare(actual, stated, [&] {
      return fmt::format("{}: the best b stays {} above the best intercept, the statement says {}",
                         one,
                         actual,
                         stated);
    });
  }
  return tally.verdict("loss of the best b above the best intercept's", "the formula", "exact");
}

Rational normal_equation_excess(const ReadoutCase& one) {
  const Vector<Rational> wanted = one.intercept();
  const Matrix<Rational> right = one.weight * wanted, left = one.weight * one.weight.transpose();
  const Matrix<Rational> b = solve(left, right).value();
  return (wanted - one.weight.transpose() * b).squared_norm() / 2;
}

Verdict check_centring_is_optimal(const ReadoutPrediction& says, std::uint64_t seed) {
  ConditionTally tally;
  for (auto one : readout_cases(seed, kDraws / 2)) {
    one.bias = -one.mu();
    const Rational at_centre = one.loss(), least = least_loss(one);
    tally.sizes(one.sizes());
    tally.record(at_centre == least, says(one), [&] {
      return Witness{
          fmt::format("{}: loss {} at b = -μ, {} at the best intercept", one, at_centre, least),
          at_centre.to_double(),
          least.to_double()};
    });
  }
  return tally.verdict("loss at b = -μ", "loss of the best intercept", "exact");
}

Verdict check_descent_centres(const ReadoutPrediction& says, std::uint64_t seed) {
  ConditionTally tally;
  for (const auto& one : readout_cases(seed, kDraws)) {
    const Vector<Rational> mu = one.mu(), slope = loss_of_bias(one).gradient;
    const Vector<Rational> best = loss_of_bias(one).stationary_point().value();
    tally.sizes(one.sizes());
    tally.record(mu.dot(slope) > 0, says(one), [&] {
      return Witness{
          fmt::format("φ = {}, W_d = {}, T = {}: at b = 0 the regressor's mean is {} and "
                      "∂L/∂b = {}; at the best b, {}, its mean is {}",
                      one.phi,
                      one.weight,
                      one.target,
                      mu,
                      slope,
                      best,
                      mu + best),
          mu.dot(slope).to_double(),
          0};
    });
  }
  return tally.verdict("μᵀ∂L/∂b", "0", "exact");
}

std::optional<bool> mean_output_overshoots(const ReadoutCase& one) {
  const Vector<Rational> output = one.weight.transpose() * one.mu();
  return output.dot(output - one.mean_target()) > 0;
}

}  // namespace kappascope::theory
