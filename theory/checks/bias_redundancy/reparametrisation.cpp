// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/bias_redundancy/reparametrisation.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "theory/checks/bias_redundancy/input_bias.h"
#include "theory/exact/linalg.h"
#include "theory/tools/draws.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

/// Rounding of a block of this size stays below 1e-13; a changed P is seen from 1e-4 on.
constexpr double kSame = 1e-11, kDifferent = 1e-7;

/// Both outputs of the first sequence on which they differ, else of the first one.
struct Comparison {
  bool same = true;
  const Matrix<Rational>* input = nullptr;
  Matrix<Rational> with, without;
};

Comparison compare(const BlockCase<Rational>& one, const AttentionBlock<Rational>& other) {
  Comparison found;
  for (const auto& input : one.inputs) {
    Matrix<Rational> with = attention(one.block, input, one.masks);
    Matrix<Rational> without = attention(other, input, one.masks);
    const bool same = with == without;
    if (same && found.input != nullptr) continue;
    found = {same, &input, std::move(with), std::move(without)};
    if (!same) break;
  }
  return found;
}

Witness witness(const BlockCase<Rational>& one, const Comparison& found) {
  Index row = found.with.rows() - 1;
  for (Index i = row; i >= 0 && !found.same; --i) {
    if (found.with(i, 0) != found.without(i, 0)) row = i;
  }
  return {fmt::format("{} (weights ∝ 2^score): output {} {}",
                      text(one, *found.input),
                      found.with,
                      found.same ? "stays" : "becomes " + text(found.without)),
          found.with(row, 0).to_double(),
          found.without(row, 0).to_double()};
}

double largest_gap(const BlockCase<double>& one, const AttentionBlock<double>& other) {
  double gap = 0;
  for (const auto& input : one.inputs) {
    const Matrix<double> with = attention(one.block, input, one.masks);
    const Matrix<double> without = attention(other, input, one.masks);
    const double scale = std::max(with.largest_magnitude(), without.largest_magnitude());
    gap = std::max(gap, (with - without).largest_magnitude() / scale);
  }
  return gap;
}

PostNormBlock draw_post_norm(Random& random) {
  const auto d = random.integer(1, 2), heads = random.integer(1, 2), width = random.integer(2, 3);
  const auto s = random.integer(1, 3), f = random.integer(1, 3);
  PostNormBlock one;
  auto& block = one.attention;
  block.heads = heads;
  block.kv_heads = random.integer(1, heads);
  block.query = draw_matrix(width, heads * d, 1, random);
  block.key = draw_matrix(width, block.kv_heads * d, 1, random);
  block.value = draw_matrix(width, block.kv_heads * d, 1, random);
  block.output = draw_matrix(heads * d, width, 1, random);
  one.shift = draw_vector(width, 2, random);
  block.query_bias = block.query.transpose() * one.shift;
  block.key_bias = draw_vector(block.kv_heads * d, 1, random);
  block.value_bias = draw_vector(block.kv_heads * d, 2, random);
  block.output_bias = draw_vector(width, 2, random);
  block.causal = random.integer(0, 1) == 1;
  one.first = draw_matrix(width, f, 2, random);
  one.second = draw_matrix(f, width, 2, random);
  one.first_bias = draw_vector(f, 2, random);
  one.second_bias = draw_vector(width, 2, random);
  one.x = draw_matrix(s, width, 1, random);
  one.h = draw_matrix(s, width, 2, random);
  return one;
}

Matrix<Rational> attention_sublayer(const PostNormBlock& one) {
  return one.x + attention(one.attention, one.x);
}

Matrix<Rational> feed_forward_sublayer(const PostNormBlock& one) {
  const Matrix<Rational> hidden =
      (one.h * one.first).plus_row(one.first_bias.transpose()).map([](const Rational& value) {
        return value > 0 ? value : Rational(0);
      });
  return one.h + (hidden * one.second).plus_row(one.second_bias.transpose());
}

bool without_biases(const PostNormBlock& one) {
  return is_zero(one.attention.query_bias) && is_zero(one.attention.key_bias) &&
         is_zero(one.attention.value_bias) && is_zero(one.second_bias);
}

}  // namespace

Reparametrisation without_key_bias() {
  return reparametrisation([](auto block) {
    block.key_bias.set_zero();
    return block;
  });
}

Reparametrisation value_bias_moved_to_output() {
  return reparametrisation([](auto block) {
    const auto moved = value_bias_output(block).sum_of_rows().transpose();
    if (block.output_bias.size() == 0) {
      block.output_bias = moved;
    } else {
      block.output_bias += moved;
    }
    block.value_bias.set_zero();
    return block;
  });
}

std::optional<bool> key_bias_cancels(const BlockFacts& facts) {
  if (!facts.key_bias) return true;
  return !facts.on.key_norm && !facts.on.cap && !facts.on.sink && !facts.key_bias_turned;
}

std::optional<bool> value_bias_moves(const BlockFacts& facts) {
  return !facts.value_bias_seen || (!facts.on.dropout && !facts.on.sink);
}

Verdict check_reparametrisation(const Reparametrisation& other,
                                const BlockStatement& same_outputs,
                                std::uint64_t seed) {
  Tally tally;
  for (const auto& one : exact_blocks()) {
    const auto stated = same_outputs(facts_of(one));
    if (!stated) continue;
    const auto found = compare(one, other.exact(one.block));
    tally.sizes(sizes_of(one));
    tally.record(found.same == *stated, [&] { return witness(one, found); });
  }
  for (const auto& one : rounded_blocks(seed)) {
    const auto stated = same_outputs(facts_of(one));
    if (!stated) continue;
    const double gap = largest_gap(one, other.rounded(one.block));
    tally.sizes(sizes_of(one));
    tally.record_rounded(*stated ? gap <= kSame : gap >= kDifferent, gap, 0, kSame);
  }
  return tally.verdict("output with the bias", "output without it", "exact, then search");
}

PostNormBlock absorb_into_shifts(PostNormBlock block) {
  auto& attention = block.attention;
  attention = value_bias_moved_to_output().exact(absorb_shift(attention, block.shift));
  attention.output_bias -= block.shift;
  attention.key_bias.set_zero();
  block.x = block.x.plus_row(block.shift.transpose());
  block.h = block.h.plus_row(block.second_bias.transpose());
  block.first_bias -= block.first.transpose() * block.second_bias;
  block.second_bias.set_zero();
  return block;
}

Verdict check_post_norm(const PostNormStatement& other, std::uint64_t seed) {
  constexpr int kBlocks = 400;
  Tally tally;
  Random random(seed);
  for (int i = 0; i < kBlocks; ++i) {
    const auto one = draw_post_norm(random);
    const auto changed = other(one);
    const Matrix<Rational> before = attention_sublayer(one), after = attention_sublayer(changed);
    const bool same = before == after &&
                      feed_forward_sublayer(one) == feed_forward_sublayer(changed) &&
                      without_biases(changed);
    tally.sizes({{"width", one.x.cols()},
                 {"tokens", one.x.rows()},
                 {"heads", one.attention.heads},
                 {"d_ff", one.first.cols()}});
    tally.record(same, [&] {
      return Witness{fmt::format("x = {}, Δ = {}: the norm after attention reads {} and then {}; "
                                 "after the feed-forward part {} and then {}",
                                 one.x,
                                 one.shift,
                                 before,
                                 after,
                                 feed_forward_sublayer(one),
                                 feed_forward_sublayer(changed)),
                     before(0, 0).to_double(),
                     after(0, 0).to_double()};
    });
  }
  return tally.verdict("what the norms read with the biases", "without them", "exact");
}

}  // namespace kappascope::theory
