// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/descent/correction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "theory/exact/linalg.h"
#include "theory/tools/conditions.h"
#include "theory/tools/eigen.h"
#include "theory/tools/random.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr int kDraws = 2000;
/// Two condition numbers nearer than this are the same: 1e4 times their rounding error.
constexpr double kTie = 1e-9;

CorrectionCase diagonal_case(
    std::int64_t first, std::int64_t second, Index in, Index out, std::int64_t size) {
  CorrectionCase one;
  one.sigma = column({first, second});
  one.weight = one.sigma.as_diagonal();
  one.b_in = Vector<Rational>::unit(2, in);
  one.b_out = Vector<Rational>::unit(2, out) * Rational(size);
  one.correction_norm = size < 0 ? -size : size;
  return one;
}

/// A reflection s·(I - 2vvᵀ/s), s = vᵀv, in integers: orthogonal but for the factor s.
struct Reflection {
  Matrix<Rational> matrix;
  Rational factor;
};

Reflection draw_reflection(Index n, Random& random) {
  Vector<Rational> axis(n);
  for (auto& entry : axis) entry = random.nonzero(-2, 2);
  const Rational factor = axis.dot(axis);
  const Matrix<Rational> outer = axis * axis.transpose();
  return {Matrix<Rational>::identity(n) * factor - outer * Rational(2), factor};
}

/// A vector whose length is whole: along one axis, or 3 and 4 along two.
std::pair<Vector<Rational>, Rational> draw_whole_length(Index n, Random& random) {
  Vector<Rational> vector = Vector<Rational>::zero(n);
  const std::int64_t scale = random.nonzero(-3, 3);
  const auto first = random.integer(0, n - 1), second = random.integer(0, n - 1);
  if (first == second) {
    vector(first) = scale;
    return {vector, scale < 0 ? -scale : scale};
  }
  vector(first) = 3 * scale;
  vector(second) = 4 * scale;
  return {vector, 5 * (scale < 0 ? -scale : scale)};
}

CorrectionCase draw_case(Random& random) {
  const auto m = random.integer(1, 4), d = random.integer(1, 4);
  const auto left = draw_reflection(m, random), right = draw_reflection(d, random);
  const Index r = std::min(m, d);
  CorrectionCase one;
  one.sigma = Vector<Rational>(r);
  for (auto& value : one.sigma) value = random.integer(1, 9);
  std::sort(one.sigma.begin(), one.sigma.end(), std::greater<>());
  Matrix<Rational> middle = Matrix<Rational>::zero(m, d);
  middle.block(0, 0, r, r) = one.sigma.as_diagonal();
  const Matrix<Rational> half = left.matrix * middle;
  one.weight = half * right.matrix.transpose();
  one.sigma *= left.factor * right.factor;
  auto [in, in_length] = draw_whole_length(d, random);
  auto [out, out_length] = draw_whole_length(m, random);
  // ‖Δ‖ in proportion to the singular values, so that neither drowns the other.
  const Rational size = left.factor * right.factor * right.factor;
  one.b_in = right.matrix * in;
  one.b_out = left.matrix * out * size;
  one.correction_norm = out_length * left.factor * size / (in_length * right.factor);
  return one;
}

std::vector<CorrectionCase> correction_cases(std::uint64_t seed) {
  std::vector<CorrectionCase> cases;
  for (const std::int64_t first : {1, 2, 3}) {
    for (std::int64_t second = 1; second <= first; ++second) {
      for (const std::int64_t size : {1, -1, 2}) {
        for (const Index in : {0, 1}) {
          for (const Index out : {0, 1}) {
            cases.push_back(diagonal_case(first, second, in, out, size));
          }
        }
      }
    }
  }
  Random random(seed);
  for (int i = 0; i < kDraws; ++i) cases.push_back(draw_case(random));
  return cases;
}

/// Its eigenvalues are the squared singular values.
Matrix<Rational> gram(const Matrix<Rational>& a) {
  return a.rows() <= a.cols() ? Matrix<Rational>(a * a.transpose())
                              : Matrix<Rational>(a.transpose() * a);
}

double kappa_of_ascending(double low, double high) {
  return low <= 0 ? std::numeric_limits<double>::infinity() : std::sqrt(high / low);
}

double kappa(const Matrix<Rational>& a) {
  const Matrix<Rational> square = gram(a);
  if (rank(square) < square.rows()) return std::numeric_limits<double>::infinity();
  const auto values = eigenvalues(to_double(square));
  return kappa_of_ascending(values.front(), values.back());
}

Matrix<Rational> shifted(const Matrix<Rational>& a, const Rational& shift) {
  return a - Matrix<Rational>::identity(a.rows()) * shift;
}

}  // namespace

Matrix<Rational> CorrectionCase::corrected() const {
  return weight + b_out * b_in.transpose() / b_in.dot(b_in);
}

std::string CorrectionCase::text() const {
  return fmt::format("W = {}, b_in = {}, b_out = {}", weight, b_in, b_out);
}

Verdict check_correction_inflates(const CorrectionPrediction& says, std::uint64_t seed) {
  Tally tally;
  for (const auto& one : correction_cases(seed)) {
    const auto stated = says(one);
    if (!stated) continue;
    tally.sizes({{"rows", one.corrected().rows()}, {"columns", one.corrected().cols()}});
    const Matrix<Rational> corrected = one.corrected();
    const Rational& last = one.sigma(one.sigma.size() - 1);
    const double before = (one.sigma(0) / last).to_double(), after = kappa(corrected);
    const bool agrees = (after >= before * (1 - kTie)) == *stated;
    const auto exact =
        agrees || tally.has_witness() ? std::nullopt : integer_spectrum(gram(corrected));
    if (!exact) {
      tally.record_rounded(agrees, after, before, kTie);
      continue;
    }
    const double confirmed =
        kappa_of_ascending(exact->front().to_double(), exact->back().to_double());
    tally.record((confirmed >= before) == *stated, [&] {
      return Witness{
          fmt::format("{}: W + Δ = {}, κ {} becomes {}", one, corrected, before, confirmed),
          confirmed,
          before};
    });
  }
  return tally.verdict("κ(W + Δ)", "κ(W)", "search, witness exact");
}

Verdict check_singular_bounds(const SingularBoundsFormula& formula, std::uint64_t seed) {
  Tally tally;
  for (const auto& one : correction_cases(seed)) {
    const Matrix<Rational> square = gram(one.corrected());
    const auto bounds = formula(one);
    const auto beyond = [&](const Matrix<Rational>& a) { return definiteness(a); };
    const auto less = [&](const Rational& bound) { return shifted(square, bound * bound); };
    const bool agrees = beyond(-less(bounds.top_from)) != Definiteness::kPositiveDefinite &&
                        beyond(-less(bounds.top_to)) != Definiteness::kNeither &&
                        beyond(less(bounds.bottom_from)) != Definiteness::kNeither &&
                        beyond(less(bounds.bottom_to)) != Definiteness::kPositiveDefinite;
    tally.sizes({{"rows", one.corrected().rows()}, {"columns", one.corrected().cols()}});
    tally.record(agrees, [&] {
      return Witness{fmt::format("{}: the squared singular values are the eigenvalues of {}, the "
                                 "bounds are {} to {} and {} to {}",
                                 one,
                                 square,
                                 bounds.bottom_from,
                                 bounds.bottom_to,
                                 bounds.top_from,
                                 bounds.top_to),
                     kappa(one.corrected()),
                     (bounds.top_to / bounds.bottom_to).to_double()};
    });
  }
  return tally.verdict("κ(W + Δ)", "upper end over upper end of the bounds", "exact");
}

CorrectionPrediction inflates_from(const Rational& share) {
  return [share](const CorrectionCase& one) -> std::optional<bool> {
    const Index r = one.sigma.size();
    if (r < 2) return std::nullopt;
    const Rational enough = one.sigma(0) * (1 + one.sigma(r - 2) / one.sigma(r - 1));
    return one.correction_norm >= share * enough ? std::optional(true) : std::nullopt;
  };
}

SingularBounds interlacing_bounds(const CorrectionCase& one) {
  const Index r = one.sigma.size();
  const Rational& top = one.sigma(0);
  const Rational& bottom = one.sigma(r - 1);
  const Rational lowered = bottom - one.correction_norm;
  const Rational widest = top + one.correction_norm;
  return {r > 1 ? one.sigma(1) : Rational(0),
          widest,
          lowered > 0 ? lowered : Rational(0),
          r > 1 ? one.sigma(r - 2) : widest};
}

}  // namespace kappascope::theory
