// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/dichotomy/odd_attention.h"

#include <fmt/format.h>

#include <utility>

#include "theory/exact/linalg.h"
#include "theory/tools/conditions.h"
#include "theory/tools/draws.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr int kDraws = 600;
constexpr double kSame = 1e-11, kDifferent = 1e-7;

/// The block with b_V alone of its biases.
template <typename Scalar>
AttentionBlock<Scalar> with_value_bias_alone(AttentionBlock<Scalar> block) {
  block.query_bias = block.key_bias = block.output_bias = Vector<Scalar>();
  return block;
}

Matrix<Rational> draw_signs(Index rows, Index cols, Random& random) {
  return Matrix<Rational>::drawn(
      rows, cols, [&] { return Rational(2 * random.integer(0, 1) - 1); });
}

ConstantCase draw_case(Random& random) {
  const auto d = random.integer(2, 3), tokens = random.integer(1, 3);
  ConstantCase one;
  one.block.heads = one.block.kv_heads = random.integer(1, 2);
  one.block.query = draw_matrix(d, one.block.heads * d, 1, random);
  one.block.key = draw_matrix(d, one.block.heads * d, 1, random);
  one.block.causal = random.integer(0, 1) == 1;
  const auto kind = random.integer(0, 2);
  const auto count = random.integer(1, 3);
  for (std::int64_t i = 0; i < count; ++i) {
    Matrix<Rational> x = draw_signs(tokens, d, random);
    if (kind == 1) x.col(0) = Vector<Rational>::ones(tokens);
    if (kind == 0) one.sequences.push_back(-x);
    one.sequences.push_back(std::move(x));
  }
  one.symmetric = kind == 0;
  return one;
}

/// [tokens of all sequences, heads·d]: P_h(X) X side by side over the heads.
Matrix<Rational> mixed_tokens(const ConstantCase& one) {
  const Index s = one.sequences.front().rows(), d = one.sequences.front().cols();
  const auto count = static_cast<Index>(one.sequences.size());
  Matrix<Rational> mixed(count * s, one.block.heads * d);
  for (Index i = 0; i < count; ++i) {
    const auto& x = one.sequences[static_cast<std::size_t>(i)];
    for (Index head = 0; head < one.block.heads; ++head) {
      mixed.block(i * s, head * d, s, d) = attention_weights(one.block, x, head) * x;
    }
  }
  return mixed;
}

}  // namespace

std::optional<bool> odd_without_value_bias(const BlockFacts& facts) {
  const bool rows_sum_to_one = !facts.on.sink && !facts.on.dropout;
  return rows_sum_to_one ? !facts.value_bias_sums : !facts.value_bias_seen;
}

Verdict check_odd(const OddStatement& says, std::uint64_t seed) {
  ConditionTally tally;
  for (const auto& one : exact_blocks()) {
    const auto block = with_value_bias_alone(one.block);
    bool odd = true;
    Matrix<Rational> at = one.inputs.front(), sum;
    for (const auto& x : one.inputs) {
      sum = attention(block, x, one.masks) + attention(block, -x, one.masks);
      at = x;
      odd = is_zero(sum);
      if (!odd) break;
    }
    tally.sizes(sizes_of(one));
    tally.record(odd, says(facts_of(one)), [&] {
      return Witness{
          fmt::format("{} without b_Q, b_K, b_O: A(X) + A(-X) is {}", text(one, at), sum),
          sum(0, 0).to_double(),
          0};
    });
  }
  Tally rounded;
  for (const auto& one : rounded_blocks(seed)) {
    const auto stated = says(facts_of(one));
    if (!stated) continue;
    const auto block = with_value_bias_alone(one.block);
    double gap = 0;
    for (const auto& x : one.inputs) {
      const Matrix<double> y = attention(block, x, one.masks);
      const double size = y.largest_magnitude();
      const double sum = (y + attention(block, -x, one.masks)).largest_magnitude();
      gap = std::max(gap, size > 0 ? sum / size : sum);
    }
    rounded.sizes(sizes_of(one));
    rounded.record_rounded(*stated ? gap <= kSame : gap >= kDifferent, gap, 0, kSame);
  }
  return conjunction({tally.verdict("A(X) + A(-X)", "0", "exact, then search"),
                      rounded.verdict("A(X) + A(-X)", "0", "search")});
}

bool ConstantCase::in_a_plane() const {
  const Index s = sequences.front().rows();
  Matrix<Rational> tokens(static_cast<Index>(sequences.size()) * s, sequences.front().cols());
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    tokens.middle_rows(static_cast<Index>(i) * s, s) = sequences[i];
  }
  return solve(tokens, Vector<Rational>::ones(tokens.rows())).has_value();
}

std::string ConstantCase::text() const {
  std::string inputs;
  for (const auto& x : sequences) inputs += (inputs.empty() ? "" : " and ") + theory::text(x);
  return fmt::format("X in {}, W_Q = {}, W_K = {}, {} head{}{}",
                     inputs,
                     block.query,
                     block.key,
                     block.heads,
                     block.heads > 1 ? "s" : "",
                     block.causal ? ", causal" : "");
}

std::vector<ConstantCase> constant_cases(std::uint64_t seed) {
  ConstantCase first;
  first.block.query = first.block.key = Matrix<Rational>::identity(2);
  first.sequences = {rows({{1, 1}}), rows({{-1, -1}})};
  first.symmetric = true;
  std::vector<ConstantCase> cases{first};
  Random random(seed);
  for (int i = 0; i < kDraws; ++i) cases.push_back(draw_case(random));
  return cases;
}

std::optional<bool> always_makes_constant(const ConstantCase& /*one*/) {
  return true;
}

std::optional<bool> symmetric_makes_none(const ConstantCase& one) {
  if (one.symmetric) return false;
  return one.in_a_plane() ? std::optional(true) : std::nullopt;
}

Verdict check_makes_constant(const ConstantStatement& says, std::uint64_t seed) {
  ConditionTally tally;
  for (const auto& one : constant_cases(seed)) {
    const Matrix<Rational> mixed = mixed_tokens(one);
    const bool makes = solve(mixed, Vector<Rational>::ones(mixed.rows())).has_value();
    tally.sizes({{"d", one.sequences.front().cols()},
                 {"tokens", one.sequences.front().rows()},
                 {"heads", one.block.heads},
                 {"sequences", std::ssize(one.sequences)}});
    tally.record(makes, says(one), [&] {
      return Witness{
          fmt::format("{}: with W = W_VW_O over the heads the outputs are {}·W, which {}",
                      one,
                      mixed,
                      makes ? "some W makes 1 everywhere" : "is 1 everywhere for no W"),
          makes ? 1.0 : 0.0,
          says(one).value_or(makes) ? 1.0 : 0.0};
    });
  }
  return tally.verdict("a constant is made (1) or not (0)", "as stated", "exact");
}

}  // namespace kappascope::theory
