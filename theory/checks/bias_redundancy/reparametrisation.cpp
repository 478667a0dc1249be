// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/bias_redundancy/reparametrisation.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "theory/exact/linalg.h"
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
                      text(found.with),
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
    tally.record(found.same == *stated, [&] { return witness(one, found); });
  }
  for (const auto& one : rounded_blocks(seed)) {
    const auto stated = same_outputs(facts_of(one));
    if (!stated) continue;
    const double gap = largest_gap(one, other.rounded(one.block));
    tally.record_rounded(*stated ? gap <= kSame : gap >= kDifferent, gap, 0, kSame);
  }
  return tally.verdict("output with the bias", "output without it", "exact, then search");
}

}  // namespace kappascope::theory
