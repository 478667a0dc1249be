// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/isotropy/branch_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "theory/exact/linalg.h"
#include "theory/tools/draws.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr int kLayers = 600;

/// Smallest and largest γ².
std::pair<Rational, Rational> squared_gains(const BranchCase& one) {
  const Vector<Rational> squares = one.gain.cwise_product(one.gain);
  const auto [least, most] = std::minmax_element(squares.begin(), squares.end());
  return {*least, *most};
}

/// k·uᵀu/(ĥᵀĥ + kε) for u = ĥ, or u = γ ⊙ ĥ.
Rational squared_length(const BranchCase& one, Index token, bool with_gain) {
  const Vector<Rational> row = one.centred().row(token).transpose();
  const Rational length = row.dot(row) + one.dimension() * one.epsilon;
  if (length == 0) return 0;
  const Vector<Rational> scaled = with_gain ? row.cwise_product(one.gain) : row;
  return one.dimension() * scaled.dot(scaled) / length;
}

}  // namespace

Enclosure derived_length(const BranchCase& one, Index token) {
  const auto [least, most] = squared_gains(one);
  const Rational length = squared_length(one, token, false);
  return {least * length, most * length};
}

bool has_even_scale(const BranchCase& one) {
  const auto [least, most] = squared_gains(one);
  if (least != most || one.epsilon != 0) return false;
  for (Index i = 0; i < one.tokens.rows(); ++i)
    if (squared_length(one, i, false) == 0) return false;
  return true;
}

Verdict check_length(const LengthStatement& says, const std::vector<BranchCase>& cases) {
  Tally tally;
  for (const auto& one : cases) {
    tally.sizes({{"k", one.dimension()}, {"d", one.tokens.cols()}, {"n", one.tokens.rows()}});
    for (Index token = 0; token < one.tokens.rows(); ++token) {
      const Rational length = squared_length(one, token, true);
      const Enclosure stated = says(one, token);
      tally.record(stated.lower <= length && length <= stated.upper, [&] {
        return Witness{fmt::format("{}, γ = {}, ε = {}: the squared length of token {} is {}",
                                   one.text(),
                                   one.gain,
                                   one.epsilon,
                                   token + 1,
                                   length),
                       length.to_double(),
                       stated.upper.to_double()};
      });
    }
  }
  return tally.verdict("squared length of an output", "as stated", "exact");
}

BranchLayer absorbed_temperature(BranchLayer layer) {
  layer.branch = layer.branch * layer.temperature;
  layer.temperature = 1;
  return layer;
}

Verdict check_temperature(const WithoutTemperature& says, std::uint64_t seed) {
  constexpr Index kTokens = 4;
  Tally tally;
  Random random(seed);
  for (const auto& layer : branch_layers(seed, kLayers)) {
    const BranchLayer other = says(layer);
    const Vector<Rational> beta = draw_vector(layer.gain.size(), 2, random);
    tally.sizes(layer.sizes());
    for (Index token = 0; token < kTokens; ++token) {
      const Vector<Rational> x = draw_vector(layer.dimension(), 3, random);
      const Vector<Rational> mine = layer.output(x, beta), its = other.output(x, beta);
      tally.record(mine == its && other.temperature == 1, [&] {
        return Witness{fmt::format("W_branch = {}, σ(t) = {}, β = {}, x = {}: {} and {}",
                                   layer.branch,
                                   layer.temperature,
                                   beta,
                                   x,
                                   mine,
                                   its),
                       mine(0).to_double(),
                       its(0).to_double()};
      });
    }
  }
  return tally.verdict("first output", "with σ(t) = 1", "exact");
}

}  // namespace kappascope::theory
