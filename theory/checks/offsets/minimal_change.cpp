// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/offsets/minimal_change.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "theory/exact/linalg.h"
#include "theory/tools/conditions.h"
#include "theory/tools/eigen.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

/// s²I - ΔᵀΔ
Matrix<Rational> room_below(const Rational& s2, const Matrix<Rational>& map) {
  Matrix<Rational> room = -(map.transpose() * map);
  for (Index i = 0; i < room.rows(); ++i) room(i, i) += s2;
  return room;
}

bool exceeds(const Matrix<Rational>& map, const Rational& s2) {
  return definiteness(room_below(s2, map)) == Definiteness::kNeither;
}

double operator_norm(const Matrix<Rational>& map) {
  const auto squares = eigenvalues(to_double(map.transpose() * map));
  return std::sqrt(squares.back());
}

/// For each output δ: 2δ + λ b_in = 0 and δᵀb_in = β. Nothing when there is no fit.
std::optional<Matrix<Rational>> solve_optimality(const OffsetPair& pair) {
  const Index n = pair.in.size(), m = pair.out.size();
  Matrix<Rational> conditions = Matrix<Rational>::zero(n + 1, n + 1);
  for (Index i = 0; i < n; ++i) conditions(i, i) = 2;
  conditions.block(0, n, n, 1) = pair.in;
  conditions.block(n, 0, 1, n) = pair.in.transpose();
  Matrix<Rational> right = Matrix<Rational>::zero(n + 1, m);
  right.row(n) = pair.out.transpose();
  const auto solution = solve(conditions, right);
  if (!solution) return std::nullopt;
  return solution->middle_rows(0, n).transpose();
}

std::string text_of(const std::optional<Matrix<Rational>>& map) {
  return map ? "Δ = " + text(*map) : "no Δ";
}

double norm_of(const std::optional<Matrix<Rational>>& map) {
  return map ? std::sqrt((*map).squared_norm().to_double()) : 0;
}

}  // namespace

std::optional<Matrix<Rational>> published_least_fit(const OffsetPair& pair) {
  const Rational length = pair.in.dot(pair.in);
  const Matrix<Rational> product = pair.out * pair.in.transpose();
  return length == 0 ? product : Matrix<Rational>(product / length);
}

std::optional<Matrix<Rational>> least_fit(const OffsetPair& pair) {
  if (is_zero(pair.in) && !is_zero(pair.out)) return std::nullopt;
  return published_least_fit(pair);
}

Verdict check_least_fit(const LeastFit& states, const std::vector<OffsetPair>& pairs) {
  Tally tally;
  for (const auto& pair : pairs) {
    const auto actual = solve_optimality(pair);
    const auto stated = states(pair);
    const bool agrees =
        actual.has_value() == stated.has_value() &&
        (!stated || (*actual == *stated && is_zero(*stated * null_basis(pair.in.transpose()))));
    tally.sizes({{"n", pair.in.size()}, {"m", pair.out.size()}});
    tally.record(agrees, [&] {
      return Witness{fmt::format("{}: the smallest fit is {}, the statement says {}",
                                 pair,
                                 text_of(actual),
                                 text_of(stated)),
                     norm_of(actual),
                     norm_of(stated)};
    });
  }
  return tally.verdict("‖Δ‖_F of the smallest exact fit", "‖Δ‖_F as stated", "exact");
}

Rational least_norm(const OffsetPair& pair) {
  return pair.out.dot(pair.out) / pair.in.dot(pair.in);
}

Verdict check_least_norm(const LeastNorm& states, std::uint64_t seed) {
  Tally tally;
  for (const auto& fit : offset_fits(seed)) {
    const Rational stated = states(fit.offsets);
    const Matrix<Rational> least = fit.map() - fit.deviation;
    const bool reached = rank(least) <= 1 && least.squared_norm() == stated;
    const bool undercut =
        definiteness(room_below(stated, fit.map())) == Definiteness::kPositiveDefinite;
    tally.sizes({{"n", fit.offsets.in.size()}, {"m", fit.offsets.out.size()}});
    tally.record(reached && !undercut, [&] {
      return Witness{
          fmt::format("{}: the stated least square is {}, {}",
                      fit,
                      stated,
                      undercut ? "and that of Δ is less"
                               : "and b_out b_inᵀ/‖b_in‖² has " + least.squared_norm().text()),
          operator_norm(undercut ? fit.map() : least),
          std::sqrt(stated.to_double())};
    });
  }
  return tally.verdict("norm of an exact fit", "least norm as stated", "exact");
}

std::optional<bool> published_norm_grows(const OffsetFit& fit) {
  return is_zero(fit.deviation) ? std::nullopt : std::optional(true);
}

std::optional<bool> norm_grows(const OffsetFit& fit) {
  return !is_zero(fit.deviation.transpose() * fit.offsets.out) ||
         exceeds(fit.deviation, fit.least_norm2());
}

Verdict check_norm_grows(const NormGrows& says, std::uint64_t seed) {
  Tally tally;
  BothSides sides;
  for (const auto& fit : offset_fits(seed)) {
    const auto predicted = says(fit);
    if (!predicted) continue;
    const bool grows = exceeds(fit.map(), fit.least_norm2());
    sides.see(grows);
    tally.sizes({{"n", fit.offsets.in.size()}, {"m", fit.offsets.out.size()}});
    tally.record(grows == *predicted, [&] {
      const auto s2 = fit.least_norm2().text();
      return Witness{fmt::format("{}: s² = {}, and {}I - ΔᵀΔ = {} is {}",
                                 fit,
                                 s2,
                                 s2,
                                 room_below(fit.least_norm2(), fit.map()),
                                 grows ? "indefinite" : "positive semidefinite"),
                     operator_norm(fit.map()),
                     std::sqrt(fit.least_norm2().to_double())};
    });
  }
  return sides.demand(tally.verdict("‖Δ‖ in the operator norm", "s = ‖b_out‖/‖b_in‖", "exact"));
}

}  // namespace kappascope::theory
