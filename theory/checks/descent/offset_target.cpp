// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/descent/offset_target.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

#include "theory/checks/descent/joint.h"
#include "theory/exact/enclosure.h"
#include "theory/exact/linalg.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr int kEnoughSteps = 5000;

/// eᵀHe.
Rational quadratic_form(const Matrix<Rational>& hessian, const Vector<Rational>& error) {
  return error.dot(hessian * error);
}

/// Entries rounded to multiples of 2⁻⁴⁰, so that thousands of steps keep their digits few.
Vector<Rational> rounded(Vector<Rational> values) {
  const Rational unit(std::int64_t{1}, std::int64_t{1} << 40);
  for (auto& value : values) value = (value / unit).floor() * unit;
  return values;
}

/// Steps at 1/λmax until eᵀHe is 1 % of what it was. A count is trusted only where rounding cannot
/// have moved it: the share lies clear of 1 % on both sides.
int steps_to_one_percent(const Matrix<Rational>& hessian, Vector<Rational> error) {
  const Rational eta = 1 / extreme_eigenvalues(hessian).max.upper;
  const Rational enough = quadratic_form(hessian, error) / 100, clear = enough / 100'000;
  for (int steps = 0; steps < kEnoughSteps; ++steps) {
    const Rational left = quadratic_form(hessian, error);
    if (left < enough - clear) return steps;
    if (left < enough + clear) return -1;
    error = rounded(error - hessian * error * eta);
  }
  return kEnoughSteps;
}

Vector<Rational> joint_error(Index d) {
  return Vector<Rational>::unit(d + 1, d);
}

}  // namespace

Rational derived_share_bound(const Rational& eta, int k) {
  return 1 / (eta * (2 * k + 1));
}

Verdict check_share_bound(const ShareBound& bound, std::uint64_t seed) {
  constexpr std::size_t kSmall = 500, kStride = 8;
  Tally tally;
  std::size_t index = 0;
  for (const auto& one : gram_cases(seed)) {
    if (++index > kSmall && index % kStride != 0) continue;
    const Matrix<Rational> joint = joint_hessian_of(one);
    const Rational eta = 1 / joint.trace();
    Vector<Rational> error = joint_error(one.dimension());
    int done = 0;
    for (const int k : {0, 1, 2, 4, 8}) {
      for (; done < k; ++done) error -= joint * error * eta;
      const Rational share = quadratic_form(joint, error), stated = bound(eta, k);
      tally.sizes({{"d", one.dimension()}, {"steps", k}});
      tally.record(share <= stated, [&] {
        return Witness{fmt::format("{}, η = {}: after {} steps the excess loss is {:.6g} of the "
                                   "first, the bound says {:.6g}",
                                   one,
                                   eta,
                                   k,
                                   share.to_double(),
                                   stated.to_double()),
                       share.to_double(),
                       stated.to_double()};
      });
    }
  }
  return tally.verdict("share of the first excess loss", "its bound", "exact");
}

std::vector<OffsetTarget> offset_targets() {
  return {{rows({{1, 0}, {0, {1, 1000}}}), column({0, {3, 100}}), 1, 1211},
          {rows({{1}}), column({1}), 11, 1}};
}

Verdict check_offset_steps(const std::vector<OffsetTarget>& says) {
  Tally tally;
  for (const auto& one : says) {
    GramCase moments;
    moments.sigma = one.sigma;
    moments.lambda = moments.mean = moments.mu = one.mu;
    const Matrix<Rational> block = moments.second_moment();
    const int with = steps_to_one_percent(joint_hessian_of(moments), joint_error(one.mu.size()));
    const int without = steps_to_one_percent(block, solve(block, one.mu).value());
    tally.sizes({{"d", one.mu.size()}});
    tally.record(with == one.with && without == one.without, [&] {
      return Witness{fmt::format("Σ = {}, μ = {}: {} steps with the intercept and {} without, the "
                                 "statement says {} and {}",
                                 one.sigma,
                                 one.mu,
                                 with,
                                 without,
                                 one.with,
                                 one.without),
                     static_cast<double>(with),
                     static_cast<double>(one.with)};
    });
  }
  return tally.verdict("steps to 1 % of the excess loss", "as stated", "exact, by rational bounds");
}

}  // namespace kappascope::theory
