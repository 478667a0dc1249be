// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/offsets/offset_cases.h"

#include <fmt/format.h>

#include <utility>

#include "theory/exact/linalg.h"
#include "theory/tools/draws.h"

namespace kappascope::theory {
namespace {

constexpr int kPairs = 2000, kFits = 2500, kNoisy = 2000;

/// ‖v‖² I - v vᵀ, which sends v to zero and stretches what is orthogonal to it.
Matrix<Rational> annihilator(const Vector<Rational>& v) {
  const Rational length = v.dot(v);
  Matrix<Rational> made = -(v * v.transpose());
  for (Index i = 0; i < v.size(); ++i) made(i, i) += length;
  return made;
}

OffsetPair draw_pair(Random& random) {
  const auto n = random.integer(1, 4), m = random.integer(1, 4);
  auto in = draw_nonzero_vector(n, 3, random);
  Vector<Rational> out = draw_vector(m, 3, random);
  const auto kind = random.integer(0, 5);
  if (kind == 0) out.set_zero();
  if (kind == 1 && m == n) out = in;
  return {std::move(in), std::move(out)};
}

OffsetFit draw_fit(Random& random) {
  auto pair = draw_pair(random);
  Matrix<Rational> deviation = draw_matrix(pair.out.size(), pair.in.size(), 2, random);
  deviation = deviation * annihilator(pair.in);
  if (random.integer(0, 1) == 0) deviation = annihilator(pair.out) * deviation;
  // Entries of E grow with the fourth power of those of b: small and large norms both occur.
  deviation /= Rational(random.pick<int>({1, 4, 16, 64, 256}));
  return {std::move(pair), std::move(deviation)};
}

Matrix<Rational> draw_samples(Index n, Random& random) {
  switch (random.integer(0, 4)) {
    case 0:
      return Matrix<Rational>::zero(1, n);
    case 1:
      return draw_matrix(1, n, 3, random);
    case 2:
      return Rational(random.integer(1, 3)) * Matrix<Rational>::identity(n);
    default:
      return draw_matrix(random.integer(1, 5), n, 3, random);
  }
}

NoisyOffset draw_noisy(Random& random) {
  auto pair = draw_pair(random);
  Matrix<Rational> samples = draw_samples(pair.in.size(), random);
  const auto kind = random.integer(0, 5);
  if (kind < 2) pair.in = samples.row(0).transpose();  // an offset along the noise
  if (kind == 2) pair.in.set_zero();
  return {std::move(pair), std::move(samples)};
}

}  // namespace

std::string OffsetPair::text() const {
  return fmt::format("b_in = {}, b_out = {}", in, out);
}

std::vector<OffsetPair> offset_pairs(std::uint64_t seed) {
  std::vector<OffsetPair> pairs{{column({1}), column({1})},
                                {column({1}), column({0})},
                                {column({1, 0}), column({1})},
                                {column({1, 1}), column({1})},
                                {column({1, 0}), column({1, 0})},
                                {column({1, 1}), column({1, -1})},
                                {column({1, 2}), column({0, 0})}};
  Random random(seed);
  for (int i = 0; i < kPairs; ++i) pairs.push_back(draw_pair(random));
  return pairs;
}

std::vector<OffsetPair> pairs_without_input() {
  return {{column({0}), column({1})},
          {column({0}), column({0})},
          {column({0, 0}), column({1})},
          {column({0, 0}), column({0, 0})},
          {column({0}), column({1, 2})}};
}

Matrix<Rational> OffsetFit::map() const {
  const Matrix<Rational> least =
      offsets.out * offsets.in.transpose() / Rational(offsets.in.dot(offsets.in));
  return least + deviation;
}

Rational OffsetFit::least_norm2() const {
  return offsets.out.dot(offsets.out) / offsets.in.dot(offsets.in);
}

std::string OffsetFit::text() const {
  return fmt::format("{}, Δ = {}", offsets, map());
}

std::vector<OffsetFit> offset_fits(std::uint64_t seed) {
  const OffsetPair plane{column({1, 0}), column({1, 0})};
  std::vector<OffsetFit> fits{{{column({1}), column({1})}, rows({{0}})},
                              {{column({1, 0}), column({1})}, rows({{0, 0}})},
                              {{column({1, 0}), column({1})}, rows({{0, 1}})},
                              {plane, rows({{0, 0}, {0, 0}})},
                              {plane, rows({{0, 0}, {0, 1}})},
                              {plane, rows({{0, 0}, {0, 2}})},
                              {plane, rows({{0, 1}, {0, 0}})},
                              {{column({1, 0}), column({0, 0})}, rows({{0, 1}, {0, 0}})}};
  Random random(seed);
  for (int i = 0; i < kFits; ++i) fits.push_back(draw_fit(random));
  return fits;
}

Matrix<Rational> NoisyOffset::sigma() const {
  return samples.transpose() * samples / Rational(samples.rows());
}

std::string NoisyOffset::text() const {
  return fmt::format("Σ = {}, {}", sigma(), offsets);
}

std::vector<NoisyOffset> noisy_offsets(std::uint64_t seed) {
  std::vector<NoisyOffset> cases{{{column({1}), column({1})}, rows({{1}})},
                                 {{column({1}), column({1})}, rows({{0}})},
                                 {{column({1, 0}), column({1})}, rows({{0, 0}})},
                                 {{column({1, 0}), column({1})}, rows({{0, 1}})},
                                 {{column({1, 0}), column({1})}, rows({{1, 0}})},
                                 {{column({1, 1}), column({1})}, rows({{1, 1}, {1, -1}})},
                                 {{column({0}), column({1})}, rows({{1}})},
                                 {{column({0}), column({1})}, rows({{0}})}};
  Random random(seed);
  for (int i = 0; i < kNoisy; ++i) cases.push_back(draw_noisy(random));
  return cases;
}

}  // namespace kappascope::theory
