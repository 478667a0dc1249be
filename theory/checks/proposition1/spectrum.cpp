// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/proposition1/spectrum.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "theory/exact/linalg.h"
#include "theory/tools/eigen.h"
#include "theory/tools/random.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
/// Eigenvalues of the cases are integers up to 1e4 in ratio, or larger than 1e-8 of the largest
/// one after the update: whatever lies below this share of λmax is rounding.
constexpr double kNullShare = 1e-11;
/// Two condition numbers nearer than this are the same: 1e4 times their rounding error.
constexpr double kTie = 1e-9;

Matrix<Rational> shifted(const Matrix<Rational>& a, const Rational& shift) {
  Matrix<Rational> out = -a;
  for (Index i = 0; i < a.rows(); ++i) out(i, i) += shift;
  return out;
}

template <typename Values>
double kappa_of_ascending(const Values& values, Convention convention) {
  const double top = values.back();
  for (const double value : values) {
    if (value > kNullShare * top) return top / value;
    if (convention == Convention::kInfinite) return std::numeric_limits<double>::infinity();
  }
  return std::numeric_limits<double>::quiet_NaN();
}

std::optional<std::vector<double>> exact_eigenvalues(const Matrix<Rational>& a) {
  const auto exact = integer_spectrum(a);
  if (!exact) return std::nullopt;
  std::vector<double> values;
  for (const auto& value : *exact) values.push_back(value.to_double());
  return values;
}

bool related(double updated, double original, Relation relation) {
  if (std::isinf(original) || std::isinf(updated)) {
    return relation == Relation::kGreater ? updated > original : updated >= original;
  }
  const double gap = updated / original - 1;
  return relation == Relation::kGreater ? gap > kTie : gap >= -kTie;
}

/// 1 + Σ m_i²/(λ_i - x) over the eigenvalues above zero: its roots are the moved eigenvalues.
double secular(const GramCase& one, double x) {
  double sum = 1;
  for (Index i = 0; i < one.rank(); ++i) {
    const double m = one.mean(i).to_double();
    if (m != 0) sum += m * m / (one.lambda(i).to_double() - x);
  }
  return sum;
}

/// The largest eigenvalue of Σ+μμᵀ for μ in the range of Σ, by bisection on the secular equation.
double top_after_update(const GramCase& one) {
  const double top = one.lambda(0).to_double();
  if (!top_grows(one)) return top;
  double low = top, high = top;
  for (Index i = 0; i < one.rank(); ++i) high += std::pow(one.mean(i).to_double(), 2);
  while (high - low > 2 * kEpsilon * high) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    // Beyond λ1 the function rises from -∞ to 1.
    (secular(one, middle) < 0 ? low : high) = middle;
  }
  return high;
}

bool kappa_at_least_on_range(const GramCase& one) {
  const Index last = one.rank() - 1;
  if (last == 0 || one.mean(last) == 0 || one.lambda(last) == one.lambda(last - 1)) return true;
  const double bottom = one.lambda(last).to_double();
  const double s = top_after_update(one) * (bottom / one.lambda(0).to_double()) * (1 + kTie / 8);
  return s >= one.lambda(last - 1).to_double() || secular(one, s) >= 0;
}

/// Larger and worse conditioned than the exact cases: κ up to 1e12, means up to 1e3 times the
/// features' spread.
void compare_in_floating_point(const TopBound& bound, std::uint64_t seed, Tally& tally) {
  Random random(seed);
  for (int draw = 0; draw < 200; ++draw) {
    const auto d = static_cast<Index>(random.integer(6, 48));
    Vector<double> lambda(d), mean(d);
    const double decades = static_cast<double>(random.integer(0, 12));
    for (auto& value : lambda) value = std::pow(10, -decades * random.uniform());
    std::sort(lambda.begin(), lambda.end(), std::greater<>());
    const double scale = std::pow(10, static_cast<double>(random.integer(-3, 3)));
    for (auto& value : mean) value = scale * (2 * random.uniform() - 1);
    if (draw % 5 == 0) mean.segment(1, d - 1).set_zero();
    if (draw % 5 == 1) mean(0) = 0;

    // The statement is exact arithmetic's; rounding to 2⁻⁴⁰ makes the case one for both.
    GramCase one{Vector<Rational>(d), Vector<Rational>(d), {}, {}};
    constexpr double kUnit = 0x1p-40;
    for (Index i = 0; i < d; ++i) {
      one.lambda(i) = Rational(std::llround(lambda(i) / kUnit), 1LL << 40);
      one.mean(i) = Rational(std::llround(mean(i) / kUnit), 1LL << 40);
    }
    const Matrix<double> noise = Matrix<double>::drawn(d, d, [&] { return random.uniform(); });
    const auto basis = eigen_basis(noise + noise.transpose()).vectors;
    const Vector<double> mu = basis * to_double(one.mean);
    const Matrix<double> sigma = basis * to_double(one.lambda).as_diagonal() * basis.transpose();
    const double top = eigenvalues(sigma + mu * mu.transpose()).back();
    const double stated = bound(one).to_double();
    // One-sided: only what the bound exceeds the eigenvalue by counts.
    tally.sizes({{"d in floating point", d}});
    tally.compare_rounded(
        std::min(top, stated), stated, top, 8.0 * static_cast<double>(d) * kEpsilon);
  }
}

}  // namespace

Verdict check_top_eigenvalue_bound(const TopBound& bound, std::uint64_t seed) {
  Tally tally;
  for (const auto& one : gram_cases(seed)) {
    const Matrix<Rational> updated = one.second_moment();
    const Rational stated = bound(one);
    const bool below = definiteness(shifted(updated, stated)) == Definiteness::kPositiveDefinite;
    tally.sizes({{"d", one.dimension()}});
    tally.record(!below, [&] {
      return Witness{one.text() + ": the bound is " + stated.text() + ", and " + stated.text() +
                         "·I - Σ - μμᵀ is positive definite",
                     eigenvalues(to_double(updated)).back(),
                     stated.to_double()};
    });
  }
  compare_in_floating_point(bound, seed, tally);
  return tally.verdict("λmax(Σ+μμᵀ)", "its lower bound", "exact and search");
}

Verdict check_top_strictly_grows(const Prediction& says, std::uint64_t seed) {
  Tally tally;
  for (const auto& one : gram_cases(seed)) {
    const auto predicted = says(one);
    if (!predicted) continue;
    const Matrix<Rational> updated = one.second_moment();
    const bool grows = definiteness(shifted(updated, one.lambda(0))) == Definiteness::kNeither;
    tally.sizes({{"d", one.dimension()}});
    tally.record(grows == *predicted, [&] {
      const double top = eigenvalues(to_double(updated)).back();
      return Witness{one.text() + ": λmax(Σ) = " + one.lambda(0).text() + ", Σ+μμᵀ = " +
                         text(updated) + (grows ? " has a larger one" : " has no larger one"),
                     top,
                     one.lambda(0).to_double()};
    });
  }
  return tally.verdict("λmax(Σ+μμᵀ)", "λmax(Σ)", "exact");
}

Verdict check_same_nullspace(const Prediction& says, std::uint64_t seed) {
  Tally tally;
  for (const auto& one : gram_cases(seed)) {
    const auto predicted = says(one);
    if (!predicted) continue;
    const Matrix<Rational> updated = one.second_moment();
    const Matrix<Rational> kernel = null_basis(one.sigma);
    const Index nullity = one.dimension() - rank(updated);
    const Matrix<Rational> image = updated * kernel;
    const bool same =
        nullity == kernel.cols() &&
        std::all_of(image.begin(), image.end(), [](const auto& entry) { return entry == 0; });
    tally.sizes({{"d", one.dimension()}});
    tally.record(same == *predicted, [&] {
      return Witness{one.text() + ": ker Σ has dimension " + std::to_string(kernel.cols()) +
                         ", ker(Σ+μμᵀ) has dimension " + std::to_string(nullity),
                     static_cast<double>(nullity),
                     static_cast<double>(kernel.cols())};
    });
  }
  return tally.verdict("dim ker(Σ+μμᵀ)", "dim ker Σ", "exact");
}

Verdict check_kappa(const Prediction& says,
                    Relation relation,
                    Convention convention,
                    std::uint64_t seed) {
  Tally tally;
  for (const auto& one : gram_cases(seed)) {
    if (one.rank() == 0) continue;
    const auto predicted = says(one);
    if (!predicted) continue;
    const Matrix<Rational> updated = one.second_moment();
    const double before = kappa_of_ascending(eigenvalues(to_double(one.sigma)), convention);
    const double after = kappa_of_ascending(eigenvalues(to_double(updated)), convention);
    tally.sizes({{"d", one.dimension()}});
    const bool agrees = related(after, before, relation) == *predicted;
    if (agrees || tally.has_witness()) {
      tally.record_rounded(agrees, after, before, kTie);
      continue;
    }
    const auto exact_before = exact_eigenvalues(one.sigma);
    const auto exact_after = exact_eigenvalues(updated);
    if (!exact_before || !exact_after) {
      tally.record_rounded(false, after, before, kTie);
      continue;
    }
    const double left = kappa_of_ascending(*exact_after, convention);
    const double right = kappa_of_ascending(*exact_before, convention);
    tally.record(related(left, right, relation) == *predicted, [&] {
      const auto spectrum = [](const std::vector<double>& values) {
        std::string out;
        for (const double value : values)
          out += fmt::format("{}{}", out.empty() ? "" : ", ", value);
        return "{" + out + "}";
      };
      return Witness{fmt::format("{}: eigenvalues {} become {}, κ {} becomes {}",
                                 one,
                                 spectrum(*exact_before),
                                 spectrum(*exact_after),
                                 right,
                                 left),
                     left,
                     right};
    });
  }
  return tally.verdict("κ(Σ+μμᵀ)", "κ(Σ)", "search, witness exact");
}

Rational published_top_bound(const GramCase& one) {
  Rational bound = one.lambda(0);
  for (Index i = 0; i < one.dimension(); ++i) {
    if (one.lambda(i) == one.lambda(0)) bound += one.mean(i) * one.mean(i);
  }
  return bound;
}

bool top_grows(const GramCase& one) {
  Rational sum = 0;
  for (Index i = 0; i < one.dimension(); ++i) {
    if (one.mean(i) == 0) continue;
    if (one.lambda(i) == one.lambda(0)) return true;
    sum += one.mean(i) * one.mean(i) / (one.lambda(0) - one.lambda(i));
  }
  return sum > 1;
}

bool kappa_at_least(const GramCase& one, Convention convention) {
  assert(one.rank() > 0);
  const Index nullity = one.dimension() - one.rank();
  if (nullity == 0) return kappa_at_least_on_range(one);
  if (one.mean_in_range()) {
    return convention == Convention::kInfinite || kappa_at_least_on_range(one);
  }
  return convention == Convention::kNonzero || nullity > 1;
}

bool kappa_at_least_in_plane(const GramCase& one) {
  assert(one.dimension() == 2 && one.rank() == 2);
  const Rational length = one.mean.dot(one.mean);
  const Rational leverage =
      one.mean(0) * one.mean(0) / one.lambda(0) + one.mean(1) * one.mean(1) / one.lambda(1);
  const Rational growth = 1 + length / (one.lambda(0) + one.lambda(1));
  return growth * growth >= 1 + leverage;
}

}  // namespace kappascope::theory
