// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/proposition1/gram_cases.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "theory/exact/linalg.h"
#include "theory/tools/random.h"

namespace kappascope::theory {
namespace {

using Integers = std::vector<std::int64_t>;

Vector<Rational> exact(const Integers& values) {
  Vector<Rational> vector(static_cast<Index>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) vector(static_cast<Index>(i)) = values[i];
  return vector;
}

GramCase diagonal_case(const Integers& lambda, const Integers& mean) {
  GramCase out{exact(lambda), exact(mean), {}, {}};
  out.sigma = out.lambda.as_diagonal();
  out.mu = out.mean;
  return out;
}

/// Rotates by the reflection s·(I - 2 v vᵀ / s), s = vᵀv, which is an integer matrix. Its factor s
/// multiplies μ by s and Σ by s², which leaves every statement here as it was.
GramCase rotated_case(const Integers& lambda, const Integers& mean, Random& random) {
  const auto d = static_cast<Index>(lambda.size());
  Vector<Rational> axis(d);
  for (auto& entry : axis) entry = random.nonzero(-2, 2);
  const Rational length = axis.dot(axis);
  Matrix<Rational> q = axis * axis.transpose() * Rational(-2);
  for (Index i = 0; i < d; ++i) q(i, i) += length;

  GramCase out{exact(lambda), exact(mean), {}, {}};
  out.sigma = q * out.lambda.as_diagonal() * q.transpose();
  out.mu = q * out.mean;
  out.lambda *= length * length;
  out.mean *= length;
  return out;
}

/// All vectors of `d` integers from 0 to `limit`.
std::vector<Integers> grid(std::size_t d, std::int64_t limit) {
  std::vector<Integers> all{{}};
  for (std::size_t i = 0; i < d; ++i) {
    std::vector<Integers> longer;
    for (const auto& start : all) {
      for (std::int64_t value = 0; value <= limit; ++value) {
        longer.push_back(start);
        longer.back().push_back(value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

std::vector<GramCase> small_cases() {
  struct Candidate {
    std::int64_t size;
    Integers lambda, mean;
  };
  std::vector<Candidate> candidates;
  for (const std::size_t d : {1U, 2U, 3U}) {
    for (const auto& lambda : grid(d, d == 3 ? 2 : 4)) {
      if (!std::is_sorted(lambda.begin(), lambda.end(), std::greater<>())) continue;
      for (const auto& mean : grid(d, d == 3 ? 1 : 2)) {
        std::int64_t size = 1000 * static_cast<std::int64_t>(d);
        for (const auto value : lambda) size += value;
        for (const auto value : mean) size += value;
        candidates.push_back({size, lambda, mean});
      }
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    return a.size < b.size;
  });
  std::vector<GramCase> cases;
  cases.reserve(candidates.size());
  for (const auto& one : candidates) cases.push_back(diagonal_case(one.lambda, one.mean));
  return cases;
}

enum class Spectrum {
  kGeneric,
  kAnisotropic,
  kIsotropic,
  kTopRepeated,
  kBottomRepeated,
  kRankOne,
  kNullityOne,
  kSingular
};
constexpr int kSpectra = 8;

Integers draw_spectrum(Spectrum kind, std::size_t d, Random& random) {
  Integers lambda(d);
  for (auto& value : lambda) value = random.integer(1, 9);
  const auto power = [&] { return random.pick<std::int64_t>({1, 10, 100, 1000}); };
  if (kind == Spectrum::kAnisotropic) std::generate(lambda.begin(), lambda.end(), power);
  if (kind == Spectrum::kIsotropic) std::fill(lambda.begin(), lambda.end(), lambda[0]);
  std::sort(lambda.begin(), lambda.end(), std::greater<>());
  const auto half = static_cast<std::ptrdiff_t>((d + 1) / 2);
  if (kind == Spectrum::kTopRepeated) std::fill_n(lambda.begin(), half, lambda.front());
  if (kind == Spectrum::kBottomRepeated) std::fill_n(lambda.rbegin(), half, lambda.back());
  if (kind == Spectrum::kRankOne) std::fill(lambda.begin() + 1, lambda.end(), 0);
  if (kind == Spectrum::kNullityOne) lambda.back() = 0;
  if (kind == Spectrum::kSingular) std::fill_n(lambda.rbegin(), half, 0);
  return lambda;
}

enum class Mean {
  kZero,
  kGeneric,
  kLarge,
  kTop,
  kBottom,
  kNotTop,
  kNotBottom,
  kRange,
  kKernel,
  kMostlyBottom
};
constexpr int kMeans = 10;

Integers draw_mean(Mean kind, const Integers& lambda, Random& random) {
  const std::int64_t limit = kind == Mean::kLarge ? 30 : 3;
  Integers mean(lambda.size());
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const bool top = lambda[i] == lambda.front();
    const bool bottom = lambda[i] == lambda.back();
    const bool kept = kind == Mean::kGeneric || kind == Mean::kLarge ||
                      (kind == Mean::kTop && top) || (kind == Mean::kBottom && bottom) ||
                      (kind == Mean::kNotTop && !top) || (kind == Mean::kNotBottom && !bottom) ||
                      (kind == Mean::kRange && lambda[i] > 0) ||
                      (kind == Mean::kKernel && lambda[i] == 0);
    if (kept) mean[i] = random.integer(-limit, limit);
    // What lowers kappa: the bottom rises more than the top, but does not overtake it.
    if (kind == Mean::kMostlyBottom)
      mean[i] = bottom ? random.nonzero(-2, 2) : random.integer(-1, 1);
  }
  return mean;
}

}  // namespace

Matrix<Rational> GramCase::second_moment() const {
  return sigma + mu * mu.transpose();
}

Index GramCase::rank() const {
  return std::count_if(lambda.begin(), lambda.end(), [](const auto& value) { return value > 0; });
}

bool GramCase::mean_in_range() const {
  for (Index i = 0; i < dimension(); ++i) {
    if (lambda(i) == 0 && mean(i) != 0) return false;
  }
  return true;
}

bool GramCase::mean_in_kernel() const {
  for (Index i = 0; i < dimension(); ++i) {
    if (lambda(i) != 0 && mean(i) != 0) return false;
  }
  return true;
}

std::string GramCase::text() const {
  return "Σ = " + theory::text(sigma) + ", μ = " + theory::text(Matrix<Rational>(mu));
}

std::vector<GramCase> gram_cases(std::uint64_t seed) {
  auto cases = small_cases();
  Random random(seed);
  for (int i = 0; i < 3200; ++i) {
    const auto d = static_cast<std::size_t>(random.integer(1, 5));
    const auto lambda = draw_spectrum(static_cast<Spectrum>(i % kSpectra), d, random);
    const auto mean = draw_mean(static_cast<Mean>(i / kSpectra % kMeans), lambda, random);
    cases.push_back(rotated_case(lambda, mean, random));
  }
  return cases;
}

}  // namespace kappascope::theory
