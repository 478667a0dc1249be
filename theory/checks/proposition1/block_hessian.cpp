// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/proposition1/block_hessian.h"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <string>

#include "theory/exact/linalg.h"
#include "theory/tools/random.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr int kDraws = 500;

Matrix<Rational> bias_hessian(const RegressionCase& one) {
  return polynomial_hessian([&](const auto& at) { return one.bias_loss(at); },
                            one.bias_parameters()) /
         Rational(2 * one.phi.rows());
}

Matrix<Rational> intercept_hessian(const RegressionCase& one) {
  return polynomial_hessian([&](const auto& at) { return one.intercept_loss(at); },
                            one.intercept_parameters()) /
         Rational(2 * one.phi.rows());
}

/// The Hessian left for the first `kept` parameters when the others follow their minimum: the
/// Schur complement. Nothing when the others have no minimum, because the loss falls without end
/// along a direction in which it does not curve.
std::optional<Matrix<Rational>> eliminate_tail(const Matrix<Rational>& hessian, Index kept) {
  const Index rest = hessian.rows() - kept;
  const Matrix<Rational> cross = hessian.block(kept, 0, rest, kept);
  const auto response = solve(hessian.block(kept, kept, rest, rest), cross);
  if (!response) return std::nullopt;
  const Matrix<Rational> lowered = cross.transpose() * *response;
  return hessian.block(0, 0, kept, kept) - lowered;
}

void compare_exactly(const RegressionCase& one,
                     const Matrix<Rational>& actual,
                     const Matrix<Rational>& stated,
                     Tally& tally) {
  const bool agrees = actual == stated;
  tally.sizes(one.sizes());
  tally.record(agrees, [&] {
    Index at = 0;
    while (!agrees && actual(at) == stated(at)) ++at;
    return Witness{fmt::format("{}: entry ({}, {}) is {}, the statement says {}",
                               one,
                               at % actual.rows() + 1,
                               at / actual.rows() + 1,
                               actual(at),
                               stated(at)),
                   actual(at).to_double(),
                   stated(at).to_double()};
  });
}

/// The loss is quadratic in W, so H V is a difference of two gradients, whatever the step.
void compare_in_floating_point(const MomentFormula& formula, std::uint64_t seed, Tally& tally) {
  Random random(seed);
  const auto draw = [&](Index rows, Index cols) -> Matrix<double> {
    return Matrix<double>::drawn(rows, cols, [&] { return 2 * random.uniform() - 1; });
  };
  for (int i = 0; i < 200; ++i) {
    const auto n = random.integer(1, 60), d = random.integer(1, 24), m = random.integer(1, 8);
    Matrix<double> phi = draw(n, d);
    const double offset = i % 4 == 0 ? 0 : static_cast<double>(random.integer(1, 1000));
    phi = phi.plus_row(offset * draw(1, d));
    if (i % 5 == 0) phi.col(0) = Vector<double>::ones(phi.rows()) * offset;
    const Vector<double> mu = phi.mean_of_rows().transpose();
    const Matrix<double> centred = phi.plus_row(-mu.transpose());
    const Matrix<double> sigma = centred.transpose() * centred / static_cast<double>(n);
    const Matrix<double> weight = draw(d, m), target = draw(n, m), step = draw(d, m);
    const auto gradient = [&](const Matrix<double>& w) -> Matrix<double> {
      return phi.transpose() * (phi * w - target) / static_cast<double>(n);
    };
    const Matrix<double> ahead = gradient(weight + step), here = gradient(weight);
    const Matrix<double> stated = formula.rounded(sigma, mu) * step;
    const double scale = ahead.norm() + here.norm() + stated.norm();
    tally.sizes({{"d_ff in floating point", d}, {"d_model in floating point", m}});
    tally.compare_rounded(
        (ahead - here - stated).norm(),
        0,
        scale,
        8.0 * static_cast<double>(n + d) * std::numeric_limits<double>::epsilon());
  }
}

}  // namespace

Verdict check_block(const MomentFormula& formula, std::uint64_t seed) {
  Tally tally;
  for (auto one : unconstrained_cases(seed, kDraws)) {
    one.bias.set_zero();
    const Index kept = one.weight.size();
    const Matrix<Rational> block = bias_hessian(one).block(0, 0, kept, kept);
    compare_exactly(
        one, block, kron_identity(formula.exact(one.sigma(), one.mu()), one.d_model()), tally);
  }
  compare_in_floating_point(formula, seed, tally);
  return tally.verdict("second differences of the loss in W_d", "the formula", "exact and search");
}

Verdict check_intercept_schur(const MomentFormula& formula, std::uint64_t seed) {
  Tally tally;
  for (const auto& one : unconstrained_cases(seed, kDraws)) {
    const auto schur = eliminate_tail(intercept_hessian(one), one.weight.size());
    const Matrix<Rational> stated =
        kron_identity(formula.exact(one.sigma(), one.mu()), one.d_model());
    // The block of c is the identity: there always is a minimum.
    compare_exactly(one, schur.value(), stated, tally);
  }
  return tally.verdict("Hessian of W_d with c eliminated", "the formula", "exact");
}

Matrix<Rational> joint_hessian(const RegressionCase& one) {
  const Index d = one.d_ff(), m = one.d_model();
  const Matrix<Rational> w = exact(one.weight);
  const Vector<Rational> shifted = one.shifted_mean();
  const Vector<Rational> residual = one.mean_residual();
  Matrix<Rational> hessian(d * m + d, d * m + d);
  hessian.block(0, 0, d * m, d * m) = kron_identity(one.sigma() + shifted * shifted.transpose(), m);
  hessian.block(d * m, d * m, d, d) = w * w.transpose();
  for (Index j = 0; j < d; ++j) {
    for (Index k = 0; k < m; ++k) {
      for (Index i = 0; i < d; ++i) {
        Rational entry = shifted(j) * w(i, k);
        if (i == j) entry += residual(k);
        hessian(j * m + k, d * m + i) = entry;
        hessian(d * m + i, j * m + k) = entry;
      }
    }
  }
  return hessian;
}

Verdict check_joint(const JointFormula& formula, std::uint64_t seed) {
  Tally tally;
  for (const auto& one : unconstrained_cases(seed, kDraws)) {
    compare_exactly(one, bias_hessian(one), formula(one), tally);
  }
  return tally.verdict("joint Hessian of (W_d, b)", "the formula", "exact");
}

bool bias_absorbs_mean(const RegressionCase& one) {
  const Matrix<Rational> w = exact(one.weight);
  return rank(w) == one.d_model() || (is_zero(one.shifted_mean()) && is_zero(one.mean_residual()));
}

Verdict check_bias_schur(const MomentFormula& formula,
                         const SchurCondition& condition,
                         std::uint64_t seed) {
  Tally tally;
  std::string shown_true, shown_false;
  for (const auto& one : stationary_cases(seed, 4 * kDraws)) {
    const auto schur = eliminate_tail(bias_hessian(one), one.weight.size());
    const Matrix<Rational> stated =
        kron_identity(formula.exact(one.sigma(), one.mu()), one.d_model());
    tally.sizes(one.sizes());
    const bool equal = schur && *schur == stated;
    const std::string found =
        fmt::format("{}: eliminating b leaves {}, the formula says {}",
                    one,
                    schur ? text(*schur) : "no minimum (the joint Hessian is indefinite)",
                    stated);
    tally.record(equal == condition(one), [&] {
      return Witness{found, schur ? (*schur)(0, 0).to_double() : 0, stated(0, 0).to_double()};
    });
    auto& shown = equal ? shown_true : shown_false;
    if (shown.empty()) shown = found;
  }
  auto verdict = tally.verdict("Hessian of W_d with b eliminated", "the formula", "exact");
  if (verdict.outcome != Outcome::kHolds) return verdict;
  if (shown_true.empty() || shown_false.empty()) {
    verdict.outcome = Outcome::kUndecided;
    return verdict;
  }
  verdict.witness = fmt::format("equal: {} | not equal: {}", shown_true, shown_false);
  return verdict;
}

}  // namespace kappascope::theory
