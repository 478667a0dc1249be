// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/descent/gradient_descent.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "theory/exact/linalg.h"
#include "theory/tools/conditions.h"
#include "theory/tools/draws.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr int kDraws = 600, kSteps = 5, kPathSteps = 3;

Matrix<Rational> number(std::int64_t value) {
  return Matrix<Rational>{{value}};
}

/// η as a multiple of 1/tr H, which is below 1/λmax.
OffsetCase with_step(OffsetCase one, const Rational& share) {
  const Rational trace = one.hessian().trace();
  one.step = trace == 0 ? Rational(1) : share / trace;
  return one;
}

std::vector<OffsetCase> offset_cases(std::uint64_t seed) {
  const auto one = number(1), zero = number(0);
  const Matrix<Rational> spread = column({-1, 1});
  const Matrix<Rational> across = rows({{0, 1}});
  std::vector<OffsetCase> cases{
      {zero, one.col(0), one.col(0), zero, 1},
      {spread, one.col(0), one.col(0), zero, Rational(1, 4)},
      {spread * Rational(2), one.col(0), one.col(0), zero, Rational(1, 5)},
      {Matrix<Rational>::zero(1, 2), Vector<Rational>::unit(2, 0), one.col(0), across, 1}};
  Random random(seed);
  for (int i = 0; i < kDraws; ++i) {
    const auto n = random.integer(1, 4), d = random.integer(1, 3), m = random.integer(1, 2);
    OffsetCase drawn{centred_rows(draw_matrix(n, d, 2, random)),
                     draw_vector(d, 2, random),
                     draw_vector(m, 2, random),
                     Matrix<Rational>::zero(m, d),
                     0};
    if (i % 5 == 0) drawn.x.set_zero();
    if (i % 7 == 0) drawn.b_in.set_zero();
    if (i % 5 == 1) drawn.x.col(0).set_zero();
    if (i % 5 == 1) drawn.b_in.segment(1, d - 1).set_zero();
    if (i % 3 == 0) drawn.start = draw_matrix(m, d, 2, random);
    if (i % 6 == 0) drawn.start = drawn.start * drawn.hessian();  // on the range of H
    cases.push_back(with_step(std::move(drawn), random.pick<Rational>({{1, 2}, 1, {3, 2}})));
  }
  return cases;
}

Matrix<Rational> regressors(const OffsetCase& one) {
  return one.x.plus_row(one.b_in.transpose());
}

/// [m, d] the gradient of ½‖Δy - b_out‖² at one sample y.
Matrix<Rational> sample_gradient(const OffsetCase& one,
                                 const Matrix<Rational>& delta,
                                 const Vector<Rational>& y) {
  const Vector<Rational> residual = delta * y - one.b_out;
  return residual * y.transpose();
}

Matrix<Rational> gradient(const OffsetCase& one, const Matrix<Rational>& delta) {
  const Matrix<Rational> rows = regressors(one);
  Matrix<Rational> sum = Matrix<Rational>::zero(delta.rows(), delta.cols());
  for (Index i = 0; i < rows.rows(); ++i) {
    sum += sample_gradient(one, delta, rows.row(i).transpose());
  }
  return sum / Rational(rows.rows());
}

std::vector<Matrix<Rational>> run(const OffsetCase& one) {
  std::vector<Matrix<Rational>> iterates{one.start};
  for (int t = 0; t < kSteps; ++t) {
    const Matrix<Rational> slope = gradient(one, iterates.back());
    iterates.push_back(iterates.back() - slope * one.step);
  }
  return iterates;
}

}  // namespace

Matrix<Rational> OffsetCase::hessian() const {
  const Matrix<Rational> y = regressors(*this);
  return y.transpose() * y / Rational(y.rows());
}

Matrix<Rational> OffsetCase::least_norm() const {
  const Matrix<Rational> h = hessian();
  // b_in is in the range of H, because H - b_in b_inᵀ >= 0.
  Matrix<Rational> u = solve(h, b_in).value();
  const Matrix<Rational> kernel = null_basis(h);
  if (kernel.cols() > 0) {
    const Matrix<Rational> along = kernel.transpose() * u, gram = kernel.transpose() * kernel;
    u -= kernel * solve(gram, along).value();
  }
  return b_out * u.transpose();
}

Sizes OffsetCase::sizes() const {
  return {{"d", start.cols()}, {"m", start.rows()}, {"samples", x.rows()}};
}

std::string OffsetCase::text() const {
  return fmt::format(
      "x = {}, b_in = {}, b_out = {}, Δ_0 = {}, η = {}", x, b_in, b_out, start, step);
}

Verdict check_iterates(const Iterate& formula, std::uint64_t seed) {
  Tally tally;
  for (const auto& one : offset_cases(seed)) {
    const auto iterates = run(one);
    for (int t = 0; t <= kSteps; ++t) {
      const auto& actual = iterates[static_cast<std::size_t>(t)];
      const Matrix<Rational> stated = formula(one, t);
      tally.sizes(one.sizes());
      tally.sizes({{"steps", t}});
      tally.record(actual == stated, [&] {
        return Witness{fmt::format("{}: Δ_{} = {}, the statement says {}", one, t, actual, stated),
                       actual(0, 0).to_double(),
                       stated(0, 0).to_double()};
      });
    }
  }
  return tally.verdict("Δ_t by gradient descent", "the formula", "exact");
}

Matrix<Rational> derived_iterate(const OffsetCase& one, int t) {
  const Matrix<Rational> target = one.least_norm(), h = one.hessian();
  const Matrix<Rational> contraction = Matrix<Rational>::identity(h.rows()) - h * one.step;
  Matrix<Rational> error = one.start - target;
  for (int i = 0; i < t; ++i) error = error * contraction;
  return target + error;
}

Verdict check_mean_of_paths(const Iterate& formula, std::uint64_t seed) {
  Tally tally;
  for (const auto& one : offset_cases(seed)) {
    const Matrix<Rational> samples = regressors(one);
    std::vector<Matrix<Rational>> paths{one.start};
    for (int t = 1; t <= kPathSteps; ++t) {
      const auto before = std::exchange(paths, {});
      for (const auto& delta : before) {
        for (Index i = 0; i < samples.rows(); ++i) {
          const Vector<Rational> y = samples.row(i).transpose();
          paths.push_back(delta - sample_gradient(one, delta, y) * one.step);
        }
      }
      Matrix<Rational> mean = Matrix<Rational>::zero(one.start.rows(), one.start.cols());
      for (const auto& path : paths) mean += path;
      mean /= Rational(paths.size());
      const Matrix<Rational> stated = formula(one, t);
      tally.sizes(one.sizes());
      tally.sizes({{"steps", t}});
      tally.record(mean == stated, [&] {
        return Witness{fmt::format("{}: the mean of {} paths after {} steps is {}, the statement "
                                   "says {}",
                                   one,
                                   paths.size(),
                                   t,
                                   mean,
                                   stated),
                       mean(0, 0).to_double(),
                       stated(0, 0).to_double()};
      });
    }
  }
  return tally.verdict("mean Δ_t over the paths of SGD", "the formula", "exact");
}

Verdict check_arrival(const OffsetPrediction& says, std::uint64_t seed) {
  ConditionTally tally;
  for (const auto& one : offset_cases(seed)) {
    const auto iterates = run(one);
    const Matrix<Rational> target = one.least_norm();
    bool arrives = is_zero((iterates.back() - target) * null_basis(one.hessian()));
    for (std::size_t t = 1; t < iterates.size(); ++t) {
      const Rational before = (iterates[t - 1] - target).squared_norm();
      arrives = arrives && (before == 0 || (iterates[t] - target).squared_norm() < before);
    }
    tally.sizes(one.sizes());
    tally.record(arrives, says(one), [&] {
      return Witness{
          fmt::format("{}: Δ_1 = {}, Δ_2 = {}, Δ* = {}", one, iterates[1], iterates[2], target),
          iterates.back()(0, 0).to_double(),
          target(0, 0).to_double()};
    });
  }
  return tally.verdict("Δ_5 by gradient descent", "Δ*", "exact");
}

std::optional<bool> starts_off_kernel(const OffsetCase& one) {
  return is_zero(one.start * null_basis(one.hessian()));
}

Verdict check_is_exact_fit(const OffsetPrediction& says, std::uint64_t seed) {
  ConditionTally tally;
  for (const auto& one : offset_cases(seed)) {
    const Rational length = one.b_in.dot(one.b_in);
    if (length == 0) continue;
    const Matrix<Rational> fit = one.b_out * one.b_in.transpose() / length;
    const Matrix<Rational> found = one.least_norm();
    tally.sizes(one.sizes());
    tally.record(fit == found, says(one), [&] {
      return Witness{fmt::format("{}: Δ* = {}, b_out b_inᵀ/‖b_in‖² = {}", one, found, fit),
                     found(0, 0).to_double(),
                     fit(0, 0).to_double()};
    });
  }
  return tally.verdict("Δ*", "b_out b_inᵀ/‖b_in‖²", "exact");
}

std::optional<bool> offset_is_undisturbed(const OffsetCase& one) {
  return is_zero(one.b_out) || is_zero(one.x * one.b_in);
}

Verdict check_rest(const OffsetPrediction& says, std::uint64_t seed) {
  ConditionTally tally;
  for (const auto& one : offset_cases(seed)) {
    const Matrix<Rational> target = one.least_norm(), rows = regressors(one);
    Rational largest = 0;
    for (Index i = 0; i < rows.rows(); ++i) {
      const Rational size = sample_gradient(one, target, rows.row(i).transpose()).squared_norm();
      if (size > largest) largest = size;
    }
    tally.sizes(one.sizes());
    tally.record(largest == 0, says(one), [&] {
      return Witness{fmt::format("{}: at Δ* = {} the largest squared gradient of a sample is {}",
                                 one,
                                 target,
                                 largest),
                     largest.to_double(),
                     0};
    });
  }
  return tally.verdict("largest squared gradient of a sample at Δ*", "0", "exact");
}

std::optional<bool> one_map_fits_all(const OffsetCase& one) {
  const Matrix<Rational> rows = regressors(one);
  Matrix<Rational> wanted(rows.rows(), one.b_out.size());
  for (Index i = 0; i < rows.rows(); ++i) {
    // A zero row asks for nothing.
    wanted.row(i) = is_zero(rows.row(i)) ? Matrix<Rational>::zero(1, wanted.cols())
                                         : Matrix<Rational>(one.b_out.transpose());
  }
  return solve(rows, wanted).has_value();
}

}  // namespace kappascope::theory
