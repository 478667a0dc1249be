// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/offsets/least_error.h"

#include <fmt/format.h>

#include <string>

#include "theory/exact/linalg.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

Matrix<Rational> second_moment(const Matrix<Rational>& sigma, const Vector<Rational>& b_in) {
  return sigma + b_in * b_in.transpose();
}

bool is_regular(const NoisyOffset& one) {
  const auto second = second_moment(one.sigma(), one.offsets.in);
  return rank(second) == second.rows();
}

std::vector<NoisyOffset> offsets_with(bool regular, std::uint64_t seed) {
  std::vector<NoisyOffset> kept;
  for (auto& one : noisy_offsets(seed)) {
    if (is_regular(one) == regular) kept.push_back(std::move(one));
  }
  return kept;
}

/// b_in + x for every outcome of x, one a row.
Matrix<Rational> outcomes(const NoisyOffset& one) {
  return below(one.samples, -one.samples).plus_row(one.offsets.in.transpose());
}

Rational mean_error(const Matrix<Rational>& inputs,
                    const Matrix<Rational>& map,
                    const Vector<Rational>& target) {
  const Matrix<Rational> missed = (inputs * map.transpose()).plus_row(-target.transpose());
  return missed.squared_norm() / Rational(inputs.rows());
}

LeastError fitted(const NoisyOffset& one) {
  const Matrix<Rational> inputs = outcomes(one);
  const Matrix<Rational> targets =
      Vector<Rational>::ones(inputs.rows()) * one.offsets.out.transpose();
  const auto weights = solve(inputs.transpose() * inputs, inputs.transpose() * targets);
  const Matrix<Rational> map = weights.value().transpose();
  return {map, mean_error(inputs, map, one.offsets.out), rank(inputs) == inputs.cols()};
}

std::string text_of(const LeastError& error) {
  return fmt::format("{}{} with error {}",
                     error.unique ? "the only minimiser is " : "one of many minimisers is ",
                     error.map,
                     error.value);
}

}  // namespace

Vector<Rational> shortest_solution(const Matrix<Rational>& sigma, const Vector<Rational>& b_in) {
  const Matrix<Rational> second = second_moment(sigma, b_in);
  // In the range of H, and H² has the range of H: a solution of H²w = b_in always exists.
  const auto inner = solve(second * second, b_in);
  return (second * inner.value()).col(0);
}

std::optional<LeastError> published_least_error(const Matrix<Rational>& sigma,
                                                const OffsetPair& offsets) {
  const Matrix<Rational> second = second_moment(sigma, offsets.in);
  if (rank(second) < second.rows()) return std::nullopt;
  const Vector<Rational> z = solve(second, offsets.in).value().col(0);
  const Rational value = offsets.out.dot(offsets.out) * (1 - offsets.in.dot(z));
  return LeastError{offsets.out * z.transpose(), value, true};
}

std::optional<LeastError> least_error(const Matrix<Rational>& sigma, const OffsetPair& offsets) {
  const Matrix<Rational> second = second_moment(sigma, offsets.in);
  LeastError error;
  error.map = offsets.out * shortest_solution(sigma, offsets.in).transpose();
  error.unique = rank(second) == second.rows();
  // Any solution of Σy = b_in gives the same b_inᵀy.
  if (const auto y = solve(sigma, offsets.in)) {
    error.value = offsets.out.dot(offsets.out) / (1 + offsets.in.dot(y->col(0)));
  }
  return error;
}

std::vector<NoisyOffset> regular_offsets(std::uint64_t seed) {
  return offsets_with(true, seed);
}

std::vector<NoisyOffset> singular_offsets(std::uint64_t seed) {
  return offsets_with(false, seed);
}

Verdict check_least_error(const LeastErrorFormula& states, const std::vector<NoisyOffset>& cases) {
  Tally tally;
  for (const auto& one : cases) {
    const auto actual = fitted(one);
    const auto stated = states(one.sigma(), one.offsets);
    const bool agrees = stated && stated->value == actual.value &&
                        stated->unique == actual.unique &&
                        mean_error(outcomes(one), stated->map, one.offsets.out) == actual.value;
    tally.sizes({{"n", one.offsets.in.size()},
                 {"m", one.offsets.out.size()},
                 {"samples", one.samples.rows()}});
    tally.record(agrees, [&] {
      return Witness{fmt::format("{}: {}, the statement says {}",
                                 one,
                                 text_of(actual),
                                 stated ? text_of(*stated) : "nothing (H has no inverse)"),
                     actual.value.to_double(),
                     stated ? stated->value.to_double() : 0};
    });
  }
  return tally.verdict("least E‖y1 - y2‖², by enumeration", "as stated", "exact");
}

}  // namespace kappascope::theory
