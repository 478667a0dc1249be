// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/asger/layer.h"

#include <fmt/format.h>

#include <algorithm>

#include "theory/exact/linalg.h"
#include "theory/tools/conditions.h"
#include "theory/tools/draws.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

Rational sigmoid(const Rational& z) {
  const Rational size = z < 0 ? -z : z;
  return (1 + z / (1 + size)) / 2;
}

Rational silu(const Rational& z) {
  return z * sigmoid(z);
}

bool all_zero(const Matrix<Rational>& a) {
  return std::all_of(a.begin(), a.end(), [](const auto& entry) { return entry == 0; });
}

/// Whether any token's output depends on another token of this sequence, and by which change.
struct Influence {
  bool found = false;
  Matrix<Rational> before, after;        ///< the tokens
  Rational output_before, output_after;  ///< of the first token, first entry
};

Influence influence(const TokenLayer& run,
                    const AsgerLayer& layer,
                    const Matrix<Rational>& tokens) {
  const Matrix<Rational> base = run(layer, tokens);
  Influence found;
  for (Index j = tokens.rows() - 1; j >= 0; --j) {
    Matrix<Rational> changed = tokens;
    changed(j, 0) += 1;
    const Matrix<Rational> moved = run(layer, changed);
    if (found.before.size() == 0) {
      found = {false, tokens, changed, base(0, 0), moved(0, 0)};
    }
    for (Index i = 0; i < tokens.rows(); ++i) {
      if (i == j || moved.row(i) == base.row(i)) continue;
      return {true, tokens, changed, base(i, 0), moved(i, 0)};
    }
  }
  for (Index i = 0; i < tokens.rows(); ++i) {
    const Matrix<Rational> alone = tokens.row(i);
    if (run(layer, alone).row(0) != base.row(i)) {
      return {true, tokens, alone, base(i, 0), run(layer, alone)(0, 0)};
    }
  }
  return found;
}

}  // namespace

Matrix<Rational> AsgerLayer::gate_factor(const Matrix<Rational>& tokens) const {
  const Rational a = alpha;
  return (tokens * gate.transpose()).map([a](const Rational& z) {
    return Rational(sigmoid(z) * (1 + 2 * a) - a);
  });
}

Matrix<Rational> AsgerLayer::spatial_factor(const Matrix<Rational>& tokens) const {
  const Matrix<Rational> u = tokens * up.transpose();
  const Matrix<Rational> activated = (u * spatial.transpose()).map(&silu);
  const Matrix<Rational> values = u * value.transpose();
  return activated.cwise_product(values);
}

Matrix<Rational> AsgerLayer::output(const Matrix<Rational>& tokens) const {
  const Matrix<Rational> gated = gate_factor(tokens).cwise_product(spatial_factor(tokens));
  return gated * down.transpose();
}

std::vector<AsgerLayer> asger_layers(std::uint64_t seed, int draws) {
  const Matrix<Rational> one = Matrix<Rational>{{1}};
  const Matrix<Rational> zero = Matrix<Rational>::zero(1, 1);
  std::vector<AsgerLayer> layers{{one, one, one, one, one}, {one, one, zero, one, one}};
  Random random(seed);
  for (int i = 0; i < draws; ++i) {
    const Index d = random.integer(1, 3), f = random.integer(1, 3);
    AsgerLayer layer{draw_matrix(f, d, 2, random),
                     draw_matrix(f, d, 2, random),
                     draw_matrix(f, f, 2, random),
                     draw_matrix(f, f, 2, random),
                     draw_matrix(d, f, 2, random)};
    const Index unit = random.integer(0, f - 1);
    switch (i % 6) {
      case 0:
        layer.spatial.row(unit).set_zero();
        break;
      case 1:
        layer.value.set_zero();
        break;
      case 2:
        layer.spatial.set_zero();
        break;
      case 3:
        layer.up = draw_rank_one(f, d, 2, random);
        break;
      case 4:
        layer.value = layer.spatial;
        break;
      default:
        break;
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

Verdict check_interaction(bool stated, const TokenLayer& layer, std::uint64_t seed) {
  constexpr Index kTokens = 3;
  Tally tally;
  Random random(seed);
  for (const auto& one : asger_layers(seed, 700)) {
    const Index d = one.down.rows();
    Matrix<Rational> tokens = draw_matrix(kTokens, d, 2, random);
    if (tally.cases() == 0) tokens = Matrix<Rational>::ones(2, d);
    const Influence seen = influence(layer, one, tokens);
    tally.sizes({{"d", d}, {"f", one.down.cols()}, {"tokens", tokens.rows()}});
    tally.record(seen.found == stated, [&] {
      return Witness{fmt::format("d = {}, f = {}, tokens {} become {}: the output of a token that "
                                 "stays is {} before and {} after",
                                 d,
                                 one.down.cols(),
                                 seen.before,
                                 seen.after,
                                 seen.output_before,
                                 seen.output_after),
                     seen.output_after.to_double(),
                     seen.output_before.to_double()};
    });
  }
  return tally.verdict("output after the other token changed", "output before", "exact");
}

bool some_unit_sees_tokens(const AsgerLayer& layer) {
  const Matrix<Rational> activated = layer.spatial * layer.up, values = layer.value * layer.up;
  for (Index i = 0; i < activated.rows(); ++i) {
    if (!all_zero(activated.row(i)) && !all_zero(values.row(i))) return true;
  }
  return false;
}

Verdict check_token_specific(const TokenSpecific& says, std::uint64_t seed) {
  Tally tally;
  BothSides sides;
  for (const auto& layer : asger_layers(seed, 2000)) {
    const Index d = layer.up.cols();
    Matrix<Rational> tokens(2 * d, d);
    for (Index s = 0; s < 2 * d; ++s) {
      Rational power = 1;
      for (Index j = 0; j < d; ++j, power *= s + 1) tokens(s, j) = power;
    }
    const bool differs = !all_zero(layer.spatial_factor(tokens));
    sides.see(differs);
    const bool stated = says(layer);
    tally.sizes({{"d", d}, {"f", layer.up.rows()}, {"tokens", tokens.rows()}});
    tally.record(differs == stated, [&] {
      return Witness{fmt::format("W_u = {}, W_s = {}, V_s = {}: S {}",
                                 layer.up,
                                 layer.spatial,
                                 layer.value,
                                 differs ? "differs between tokens" : "is zero at every token"),
                     differs ? 1.0 : 0.0,
                     stated ? 1.0 : 0.0};
    });
  }
  return sides.demand(
      tally.verdict("S differs between tokens (1) or not (0)", "as stated", "exact"));
}

}  // namespace kappascope::theory
