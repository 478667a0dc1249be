// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/offsets/alignment.h"

#include <fmt/format.h>

#include "theory/checks/offsets/least_error.h"
#include "theory/exact/linalg.h"
#include "theory/tools/conditions.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

bool parallel(const Vector<Rational>& a, const Vector<Rational>& b) {
  return rank(beside(a, b)) <= 1;
}

/// The row of least mean-square error for an output of 1: normal equations of the outcomes μ ± x.
Vector<Rational> fitted(const NoisyOffset& one) {
  const Matrix<Rational> plus = one.samples.plus_row(one.offsets.in.transpose());
  const Matrix<Rational> minus = (-one.samples).plus_row(one.offsets.in.transpose());
  Matrix<Rational> outcomes(2 * plus.rows(), plus.cols());
  outcomes.middle_rows(0, plus.rows()) = plus;
  outcomes.middle_rows(plus.rows(), plus.rows()) = minus;
  const Matrix<Rational> gram = outcomes.transpose() * outcomes;
  return solve(gram, outcomes.transpose() * Vector<Rational>::ones(outcomes.rows())).value();
}

/// Σ = diag(2, 8), μ = (1, 1) first.
std::vector<NoisyOffset> cases(std::uint64_t seed) {
  const NoisyOffset plane{{column({1, 1}), column({1})}, rows({{2, 0}, {0, 4}})};
  auto all = regular_offsets(seed);
  all.insert(all.begin(), plane);
  std::erase_if(all, [](const NoisyOffset& one) { return is_zero(one.offsets.in); });
  return all;
}

std::string moments(const NoisyOffset& one) {
  return fmt::format("Σ = {}, μ = {}", one.sigma(), one.offsets.in);
}

}  // namespace

std::optional<bool> aligned_with_mean(const NoisyOffset& /*one*/) {
  return true;
}

std::optional<bool> mean_is_eigenvector(const NoisyOffset& one) {
  return parallel(one.sigma() * one.offsets.in, one.offsets.in);
}

Verdict check_alignment(Correction correction, const AlignmentStatement& says, std::uint64_t seed) {
  Tally tally;
  for (const auto& one : cases(seed)) {
    const auto stated = says(one);
    if (!stated) continue;
    const Vector<Rational>& mu = one.offsets.in;
    const Vector<Rational> row =
        correction == Correction::kLeastChange ? mu / mu.dot(mu) : fitted(one);
    tally.sizes({{"n", mu.size()}});
    tally.record(parallel(row, mu) == *stated, [&] {
      return Witness{fmt::format("{}: the correction of least {} reads {}",
                                 moments(one),
                                 correction == Correction::kLeastChange ? "change" : "error",
                                 row),
                     row(0).to_double(),
                     mu(0).to_double()};
    });
  }
  return tally.verdict("the correction", "a multiple of the mean", "exact");
}

Vector<Rational> whitened_mean(const Matrix<Rational>& sigma, const Vector<Rational>& mu) {
  return solve(sigma, mu).value();
}

Verdict check_correction_direction(const CorrectionDirection& states, std::uint64_t seed) {
  Tally tally;
  for (const auto& one : cases(seed)) {
    const Matrix<Rational> sigma = one.sigma();
    if (definiteness(sigma) != Definiteness::kPositiveDefinite) continue;
    const Vector<Rational> row = fitted(one), stated = states(sigma, one.offsets.in);
    tally.sizes({{"n", row.size()}});
    tally.record(parallel(row, stated), [&] {
      return Witness{
          fmt::format(
              "{}: the correction of least error is {}, not along {}", moments(one), row, stated),
          row(0).to_double(),
          stated(0).to_double()};
    });
  }
  return tally.verdict("the correction of least error", "as stated", "exact");
}

}  // namespace kappascope::theory
