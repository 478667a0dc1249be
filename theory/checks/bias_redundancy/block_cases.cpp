// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/bias_redundancy/block_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "theory/exact/linalg.h"
#include "theory/tools/random.h"

namespace kappascope::theory {
namespace {

constexpr int kCombinations = 1 << 7;
constexpr int kDrawsEach = 20;

Switches switches(int bits) {
  const auto bit = [&](int place) { return (bits >> place & 1) == 1; };
  return {bit(0), bit(1), bit(2), bit(3), bit(4), bit(5), bit(6)};
}

template <typename Scalar>
bool any(const Matrix<Scalar>& values) {
  return std::any_of(values.begin(), values.end(), [](const auto& value) { return value != 0; });
}

/// Projections that read q, k and v off a token (q [d], k [d], v [1]); y = v.
BlockCase<Rational> free_block(Index d, Switches on) {
  const Index width = 2 * d + 1;
  BlockCase<Rational> one{.on = on, .block = {}, .masks = {}, .inputs = {}};
  auto& block = one.block;
  block.query = block.key = block.value = Matrix<Rational>::zero(width, d);
  for (Index i = 0; i < d; ++i) block.query(i, i) = block.key(d + i, i) = 1;
  block.value(2 * d, 0) = 1;
  block.output = Matrix<Rational>::zero(d, 1);
  block.output(0, 0) = 1;
  if (on.rotary) block.rotary.assign(static_cast<std::size_t>(d / 2), {0, 1});
  if (on.query_norm) block.query_gain = Vector<Rational>::ones(d);
  if (on.key_norm) block.key_gain = Vector<Rational>::ones(d);
  if (on.sink) block.sinks = column({0});
  block.causal = on.causal;
  return one;
}

BlockCase<Rational> small_block(Index d, Switches on, Matrix<Rational> tokens) {
  auto one = free_block(d, on);
  if (on.cap) one.block.cap = 15;  // scores 0, 1, 2 become 0, 5, 9
  if (on.dropout) one.masks = {Matrix<Rational>::ones(tokens.rows(), tokens.rows()) * 2};
  one.inputs = {std::move(tokens)};
  return one;
}

/// Two heads that read the same values and have W_O = 1 and -1, so that b_V cancels where both pass
/// on as much of it: not with a sink or a mask of their own each.
BlockCase<Rational> cancelling_heads(Switches on) {
  auto one = small_block(1, on, rows({{0, 0, 1}}));
  auto& block = one.block;
  const auto twice = [](Matrix<Rational>& weight) {
    Matrix<Rational> wide(weight.rows(), 2);
    wide.col(0) = wide.col(1) = weight.col(0);
    weight = wide;
  };
  for (auto* weight : {&block.query, &block.key, &block.value}) twice(*weight);
  block.heads = block.kv_heads = 2;
  block.output = rows({{1}, {-1}});
  block.value_bias = column({1, 1});
  if (on.sink) block.sinks = column({0, 1});
  if (on.dropout) one.masks.push_back(Matrix<Rational>::zero(1, 1));
  return one;
}

/// One case for each way to keep and to lose a bias, the smallest that shows it.
std::vector<BlockCase<Rational>> small_blocks() {
  const auto pair = rows({{1, 0, 0}, {1, 1, 1}});
  std::vector<BlockCase<Rational>> cases;
  const auto add_key = [&](BlockCase<Rational> one, Vector<Rational> bias) {
    one.block.key_bias = std::move(bias);
    cases.push_back(std::move(one));
  };
  add_key(small_block(1, {}, pair), column({1}));
  add_key(small_block(1, {.query_norm = true}, pair), column({1}));
  add_key(small_block(1, {.causal = true}, pair), column({1}));
  add_key(small_block(1, {.dropout = true}, pair), column({1}));
  add_key(small_block(1, {.sink = true}, rows({{1, 0, 1}})), column({1}));
  add_key(small_block(1, {.cap = true}, pair), column({1}));
  add_key(small_block(1, {.key_norm = true}, rows({{1, -1, 0}, {1, 1, 1}})), column({2}));
  add_key(small_block(2, {.rotary = true}, rows({{1, 0, 0, 0, 0}, {1, 0, 0, 0, 1}})),
          column({1, 0}));
  for (const Switches on : {Switches{}, Switches{.sink = true}, Switches{.dropout = true}}) {
    cases.push_back(small_block(1, on, rows({{0, 0, 0}})));
    cases.back().block.value_bias = column({1});
  }
  for (const Switches on : {Switches{}, Switches{.sink = true}, Switches{.dropout = true}})
    cases.push_back(cancelling_heads(on));
  return cases;
}

/// Keys along (1, 1) have roots and whole scores under every switch, before and after b_K = (2, 2).
std::vector<Matrix<Rational>> sequences() {
  std::vector<Matrix<Rational>> all;
  for (const int q0 : {1, -1}) {
    for (const int q1 : {1, -1}) {
      for (const int k0 : {1, -1, -3}) {
        for (const int k1 : {1, -1, -3}) {
          all.push_back(rows({{1, q0, k0, k0, 0}, {1, q1, k1, k1, 1}}));
        }
      }
    }
  }
  return all;
}

BlockCase<Rational> swept_block(Switches on) {
  auto one = free_block(2, on);
  one.block.scale = {1, 2};
  if (on.cap) one.block.cap = 45;  // scores 1, 2, 3 become 15, 27, 35
  if (on.dropout) {
    one.masks.push_back({{2, 2}, {0, 2}});
  }
  one.inputs = sequences();
  return one;
}

Matrix<double> draw(Index rows, Index cols, Random& random) {
  return Matrix<double>::drawn(rows, cols, [&] { return 3 * random.uniform() - 1.5; });
}

BlockCase<double> drawn_block(int index, Random& random) {
  const auto on = switches(index % kCombinations);
  const Index d = random.pick<Index>({2, 4}), width = random.integer(4, 6);
  const Index tokens = random.integer(2, 4);
  BlockCase<double> one{.on = on, .block = {}, .masks = {}, .inputs = {}};
  auto& block = one.block;
  block.heads = random.integer(1, 2);
  block.kv_heads = random.integer(1, block.heads);
  const Index q_width = block.heads * d, kv_width = block.kv_heads * d;
  block.query = draw(width, q_width, random);
  block.key = draw(width, kv_width, random);
  block.value = draw(width, kv_width, random);
  block.output = draw(q_width, width, random);
  block.query_bias = draw(q_width, 1, random);
  block.key_bias = draw(kv_width, 1, random);
  block.value_bias = draw(kv_width, 1, random);
  block.output_bias = draw(width, 1, random);
  block.epsilon = 1e-6;
  block.scale = 1 / std::sqrt(static_cast<double>(d));
  block.causal = on.causal;
  if (on.query_norm) block.query_gain = draw(d, 1, random);
  if (on.key_norm) block.key_gain = draw(d, 1, random);
  if (on.cap) block.cap = 1.5;
  if (on.sink) block.sinks = draw(block.heads, 1, random);
  const Index planes = index % 3 == 0 ? 1 : d / 2;
  if (on.rotary) {
    for (Index plane = 0; plane < planes; ++plane) {
      const double angle = std::pow(1e4, -static_cast<double>(plane) / static_cast<double>(planes));
      block.rotary.push_back({std::cos(angle), std::sin(angle)});
    }
  }
  const int kind = index / kCombinations % 4;
  if (kind == 0) block.key_bias.set_zero();
  if (kind == 1) block.value_bias.set_zero();
  // b_V cancels over the heads, to the last bit; masks that two heads may share are left out.
  if (kind == 3 && block.heads == 2 && !on.dropout) {
    block.output.middle_rows(d, d) = -block.output.middle_rows(0, d);
    if (block.kv_heads == 2) block.value_bias.segment(d, d) = block.value_bias.segment(0, d);
  }
  if (kind == 2 && d > 2 * planes) {
    for (Index head = 0; head < block.kv_heads; ++head) {
      block.key_bias.segment(head * d, 2 * planes).set_zero();
    }
  }
  for (Index head = 0; on.dropout && head < block.heads; ++head) {
    one.masks.push_back(Matrix<double>::drawn(
        tokens, tokens, [&] { return static_cast<double>(2 * random.integer(0, 1)); }));
    one.masks.back()(tokens - 1, tokens - 1) = 2;  // or a dropped row would hide everything
  }
  for (int input = 0; input < 2; ++input) one.inputs.push_back(draw(tokens, width, random));
  return one;
}

}  // namespace

template <typename Scalar>
BlockFacts facts_of(const BlockCase<Scalar>& one) {
  const auto& block = one.block;
  BlockFacts facts{.on = one.on};
  facts.key_bias = any(block.key_bias);
  const auto turned = 2 * static_cast<Index>(block.rotary.size());
  const Index d = block.head_width();
  for (Index head = 0; block.key_bias.size() > 0 && head < block.kv_heads; ++head) {
    if (any(block.key_bias.segment(head * d, turned))) facts.key_bias_turned = true;
  }
  const auto of_heads = value_bias_output(block);
  facts.value_bias_seen = any(of_heads);
  facts.value_bias_sums = any(of_heads.sum_of_rows());
  return facts;
}

template BlockFacts facts_of(const BlockCase<double>&);
template BlockFacts facts_of(const BlockCase<Rational>&);

template <typename Scalar>
Sizes sizes_of(const BlockCase<Scalar>& one) {
  const auto& on = one.on;
  int count = 0;
  for (const bool is_on :
       {on.rotary, on.query_norm, on.key_norm, on.cap, on.sink, on.causal, on.dropout})
    count += is_on ? 1 : 0;
  const auto& input = one.inputs.front();
  return {{"width", input.cols()},
          {"heads", one.block.heads},
          {"tokens", input.rows()},
          {"switches on", count}};
}

template Sizes sizes_of(const BlockCase<double>&);
template Sizes sizes_of(const BlockCase<Rational>&);

std::vector<BlockCase<Rational>> exact_blocks() {
  auto cases = small_blocks();
  for (int bits = 0; bits < kCombinations; ++bits) {
    auto seen = swept_block(switches(bits));
    auto unseen = seen;
    seen.block.key_bias = column({2, 2});
    seen.block.value_bias = column({1, 0});
    unseen.block.value_bias = column({0, 1});
    cases.push_back(std::move(seen));
    cases.push_back(std::move(unseen));
  }
  return cases;
}

std::string text(const BlockCase<Rational>& one, const Matrix<Rational>& input) {
  const auto& block = one.block;
  const Index d = block.head_width();
  const auto part = [&](Index from, Index width) {
    return text(Matrix<Rational>(input.middle_cols(from, width)));
  };
  std::string out =
      fmt::format("queries {}, keys {}, values {}", part(0, d), part(d, d), part(2 * d, 1));
  if (block.scale != 1) out += ", scale " + block.scale.text();
  if (one.on.rotary) out += ", rotary by a quarter turn a position";
  if (one.on.query_norm) out += ", query norm";
  if (one.on.key_norm) out += ", key norm";
  if (one.on.cap) {
    out += fmt::format(", scores s capped to {0}(2^s - 1)/(2^s + 1)", block.cap);
  }
  if (one.on.sink) out += ", a sink of logit " + theory::text(block.sinks);
  if (one.on.causal) out += ", causal";
  if (one.on.dropout) out += ", dropout mask " + text(one.masks[0]);
  if (block.heads > 1) out += fmt::format(", {} heads, W_O = {}", block.heads, block.output);
  if (any(block.key_bias)) out += ", b_K = " + theory::text(block.key_bias);
  if (any(block.value_bias)) out += ", b_V = " + theory::text(block.value_bias);
  return out;
}

std::vector<BlockCase<double>> rounded_blocks(std::uint64_t seed) {
  Random random(seed);
  std::vector<BlockCase<double>> cases;
  cases.reserve(std::size_t{kCombinations} * kDrawsEach);
  for (int i = 0; i < kCombinations * kDrawsEach; ++i) cases.push_back(drawn_block(i, random));
  return cases;
}

}  // namespace kappascope::theory
