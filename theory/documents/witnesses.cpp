// SPDX-License-Identifier: Apache-2.0
#include "theory/documents/witnesses.h"

#include <fmt/format.h>

#include "theory/checks/descent/joint.h"
#include "theory/checks/descent/offset_target.h"
#include "theory/checks/offset_routes/constant_makers.h"
#include "theory/checks/offset_routes/gated_layer.h"
#include "theory/checks/offsets/vanishing_noise.h"
#include "theory/exact/enclosure.h"
#include "theory/exact/linalg.h"

namespace kappascope::theory {
namespace {

using fmt::format;

std::string text_of(const Matrix<Rational>& a) {
  return text(a);
}

/// λmax/λmin of a diagonal matrix.
Rational diagonal_kappa(const Matrix<Rational>& a) {
  Rational least = a(0, 0), most = a(0, 0);
  for (Index i = 1; i < a.rows(); ++i) {
    if (a(i, i) < least) least = a(i, i);
    if (a(i, i) > most) most = a(i, i);
  }
  return most / least;
}

const Matrix<Rational>& spread() {
  static const auto sigma = rows({{2, 0}, {0, 1}});
  return sigma;
}

}  // namespace

WorkedWitness odd_attention() {
  const Vector<Rational> x = column({1, 1}), weight = column({2, 3});
  const Rational forward = x.dot(weight), backward = (-x).dot(weight);
  const auto layer = mirrored_units(Gate::kSilu, column({1}), 2);
  const auto at = layer(x), at_negative = layer(-x);
  const std::string attention =
      "Attention on one token has P = 1, so A(x) = x·w with w = W_VW_O: A(1, 1) = w1 + w2 and "
      "A(-1, -1) = -(w1 + w2).";
  const std::string units =
      "Gated layer: units (u, g) = (e1, e1), (-e1, -e1), (e2, e2), (-e2, -e2), down weights 1/2. "
      "As silu(t) - silu(-t) = t, Z(x) = (x1² + x2²)/2.";
  return {{format("Inputs: one token, x = {} or its negative; ‖x‖² = 2 = d.", text_of(x)),
           attention,
           format("With w = {}: {} and {}. No w gives one constant but zero.",
                  text_of(weight),
                  forward.text(),
                  backward.text()),
           units,
           format("Z(1, 1) = {} and Z(-1, -1) = {}.", text(at), text(at_negative))},
          forward == -backward && at == at_negative && at[0] == FormalSum(Rational(1))};
}

WorkedWitness vanishing_noise() {
  const auto sigma0 = rows({{1, 0}, {0, 4}});
  const Vector<Rational> b_in = column({1, 1});
  const Vector<Rational> limit = limit_of_solution(sigma0, b_in),
                         exact_fit = published_limit(sigma0, b_in);
  return {{format("b_in = {}, b_out = 1, Σ = ε·{}.", text_of(b_in), text_of(sigma0)),
           "Δ must make Δ1 + Δ2 = 1 as ε → 0, and pays ε(Δ1² + 4Δ2²) for the noise.",
           format("Least: Δ → {}. Lemma 1: {}.", text_of(limit), text_of(exact_fit))},
          !(limit == exact_fit)};
}

WorkedWitness rank_one_correction() {
  const Vector<Rational> b = column({0, 1});
  const Matrix<Rational> delta = b * b.transpose(), corrected = spread() + delta;
  const Rational before = diagonal_kappa(spread()), after = diagonal_kappa(corrected);
  return {{format("W = {}, b_in = b_out = {}.", text_of(spread()), text_of(b)),
           format("Δ = b_out b_inᵀ/‖b_in‖² = {}, W + Δ = {}.", text_of(delta), text_of(corrected)),
           format("κ(W) = {}, κ(W + Δ) = {}.", before.text(), after.text())},
          after < before};
}

WorkedWitness constant_units() {
  const auto layer = mirrored_units(Gate::kSilu, column({1}), 2);
  const Vector<Rational> first = column({1, 1}), second = column({{7, 5}, {1, 5}});
  const auto at_first = layer(first), at_second = layer(second);
  return {{"Units (e1, e1), (-e1, -e1), (e2, e2), (-e2, -e2), all down weights 1/2, no bias.",
           "x1 silu(x1) + (-x1) silu(-x1) = x1²(σ(x1) + σ(-x1)) = x1², and the same for x2.",
           format("So Z = (x1² + x2²)/2: {} at {}, {} at {}, 1 wherever ‖x‖² = 2.",
                  text(at_first),
                  text_of(first),
                  text(at_second),
                  text_of(second))},
          at_first == at_second && at_first[0] == FormalSum(Rational(1))};
}

WorkedWitness kappa_falls() {
  const Vector<Rational> mu = column({0, 1});
  const Matrix<Rational> raised = spread() + mu * mu.transpose();
  const Rational before = diagonal_kappa(spread()), after = diagonal_kappa(raised);
  return {{format("Σ = {}, μ = {}; Σμ = {} ≠ 0, so μ ∉ ker Σ.",
                  text_of(spread()),
                  text_of(mu),
                  text_of(spread() * mu)),
           format("Σ + μμᵀ = {}.", text_of(raised)),
           format("κ(Σ) = {}, κ(Σ + μμᵀ) = {}.", before.text(), after.text())},
          after < before};
}

WorkedWitness top_stays() {
  const Vector<Rational> mu = column({0, 1});
  const Matrix<Rational> raised = spread() + mu * mu.transpose();
  const auto flat = rows({{1, 0}, {0, 0}});
  const Matrix<Rational> filled = flat + mu * mu.transpose();
  return {{format("Σ = {}, μ = {}: μ ∉ ker Σ.", text_of(spread()), text_of(mu)),
           format("Σ + μμᵀ = {}: λmax is 2 before and after.", text_of(raised)),
           format("And Σ = {} has a kernel of dimension {}, Σ + μμᵀ = {} one of dimension {}.",
                  text_of(flat),
                  null_basis(flat).cols(),
                  text_of(filled),
                  null_basis(filled).cols())},
          raised(0, 0) == spread()(0, 0) && raised(1, 1) == 2 && null_basis(filled).cols() == 0};
}

WorkedWitness joint_problem() {
  GramCase one;
  one.sigma = rows({{1}});
  one.mu = one.lambda = one.mean = column({1});
  const Matrix<Rational> joint = joint_hessian_of(one);
  const Enclosure kappa = kappa_enclosure(joint);
  const auto target = offset_targets().front();
  const Rational trace = joint.trace(), det = joint(0, 0) * joint(1, 1) - joint(0, 1) * joint(1, 0);
  return {{"One feature with Σ = 1 and μ = 1, Z = wφ + c.",
           format("Without c the Hessian is Σ + μ² = {}: κ = 1.", one.second_moment()(0, 0).text()),
           format("With c it is {}: trace {}, determinant {}, eigenvalues (3 ± √5)/2.",
                  text_of(joint),
                  trace.text(),
                  det.text()),
           format("κ = {}; centred features give {}: κ = 1.",
                  kappa.text(3),
                  text_of(centred_problem(one))),
           format("The other side: towards T = 1 from zero, Σ = {}, μ = {}, descent takes {} step "
                  "with c and {} without (P-JOINT').",
                  text_of(target.sigma),
                  text_of(target.mu),
                  target.with,
                  target.without)},
          kappa.lower > 1 && trace == 3 && det == 1};
}

WorkedWitness covariance_grows() {
  const auto sigma = Matrix<Rational>::identity(2);
  const Vector<Rational> mu = column({1, 0}), target = column({2, 0});
  const Vector<Rational> b = target - mu;  // W_d = I
  const Matrix<Rational> without = sigma + mu * mu.transpose();
  const Matrix<Rational> with = sigma + (mu + b) * (mu + b).transpose();
  return {
      {format("Σ = I, μ = {}, W_d = I, E T = {}.", text_of(mu), text_of(target)),
       format("b*W_d = E T - μW_d gives b* = {}, so the regressor φ + b* has mean {}.",
              text_of(b),
              text_of(mu + b)),
       format(
           "E[yyᵀ] = {} with b*, {} without a bias; Cov φ = I.", text_of(with), text_of(without))},
      with(0, 0) > without(0, 0)};
}

WorkedWitness lemma2_by_hand() {
  const Rational p(1, 2), mu = 1, variance = 0, r2 = 1;
  // g = Mr takes 1, -1 with probability 1/4 each, and 0.
  const Rational measured = p * r2;
  const Rational published = r2 * (p * variance + p * mu * p * mu);
  const Rational corrected = published + r2 * p * (1 - p) * mu * mu;
  return {{"S = 1 always (μ = 1, σ² = 0), p = 1/2, b = 0, r = ±1 with equal probability.",
           "g = M·S·r is 1, -1, 0, 0 with probability 1/4 each: its mean is 0, its variance " +
               measured.text() + ".",
           "Lemma 2: E[r²](pσ² + (pμ + b)²) = " + published.text() + ".",
           "With the missing p(1-p)μ² it is " + corrected.text() + "."},
          measured != published && measured == corrected};
}

WorkedWitness bias_at_zero() {
  GatedLayer layer{Gate::kSilu,
                   Matrix<Rational>::identity(2),
                   Matrix<Rational>::identity(2),
                   column({1, 0}),
                   Matrix<Rational>::identity(2)};
  const Vector<Rational> zero = column({0, 0});
  const auto with = layer(zero), without = without_bias(layer)(zero);
  return {{"W_u = W_g = W_d = I in two dimensions, b = (1, 0), x = (0, 0).",
           format("With b: Z = (0 + 1, 0) = {}.", text(with)),
           format("Without: every unit is (u·0) silu(g·0) = 0, whatever the weights and the width: "
                  "Z = {}.",
                  text(without))},
          !(with == without)};
}

}  // namespace kappascope::theory
