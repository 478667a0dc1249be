// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/bias_redundancy/block_cases.h"

#include <algorithm>
#include <array>
#include <set>

#include "support/catch.h"
#include "theory/checks/bias_redundancy/reparametrisation.h"

using namespace kappascope::theory;

namespace {

std::array<bool, 7> key(const Switches& on) {
  return {on.rotary, on.query_norm, on.key_norm, on.cap, on.sink, on.causal, on.dropout};
}

}  // namespace

TEST_CASE("every combination of switches is there, exactly and in floating point") {
  std::set<std::array<bool, 7>> exact, rounded;
  for (const auto& one : exact_blocks()) exact.insert(key(one.on));
  for (const auto& one : rounded_blocks(1)) rounded.insert(key(one.on));
  CHECK(exact.size() == 128);
  CHECK(rounded.size() == 128);
}

TEST_CASE("a block has what its switches say") {
  for (const auto& one : rounded_blocks(1)) {
    const auto& block = one.block;
    REQUIRE(block.rotary.empty() != one.on.rotary);
    REQUIRE((block.query_gain.size() > 0) == one.on.query_norm);
    REQUIRE((block.key_gain.size() > 0) == one.on.key_norm);
    REQUIRE((block.cap > 0) == one.on.cap);
    REQUIRE((block.sinks.size() == block.heads) == one.on.sink);
    REQUIRE(block.causal == one.on.causal);
    REQUIRE(one.masks.empty() != one.on.dropout);
  }
}

TEST_CASE("cases stand on both sides of each condition, in number") {
  const auto cases = rounded_blocks(1);
  const auto count = [&](const auto& is) {
    return std::count_if(
        cases.begin(), cases.end(), [&](const auto& one) { return is(facts_of(one)); });
  };
  CHECK(cases.size() >= 2000);
  CHECK(count([](const auto& facts) { return facts.key_bias && *key_bias_cancels(facts); }) > 100);
  CHECK(count([](const auto& facts) { return !*key_bias_cancels(facts); }) > 1000);
  // Rotary turns half of the coordinates, and b_K stands in the other half.
  CHECK(count([](const auto& facts) {
          return facts.on.rotary && facts.key_bias && !facts.key_bias_turned;
        }) > 20);
  CHECK(count([](const auto& facts) { return facts.value_bias_seen && *value_bias_moves(facts); }) >
        300);
  CHECK(count([](const auto& facts) { return !*value_bias_moves(facts); }) > 1000);
}

TEST_CASE("b_V W_O is what a row of weights that sums to one makes of b_V") {
  for (const auto& one : rounded_blocks(2)) {
    if (one.on.sink || one.on.dropout) continue;
    auto without = one.block;
    without.value_bias.set_zero();
    const auto& x = one.inputs.front();
    const Matrix<double> made = attention(one.block, x) - attention(without, x);
    const Matrix<double> said = value_bias_output(one.block).sum_of_rows();
    REQUIRE((made.plus_row(-said.row(0))).largest_magnitude() < 1e-11);
  }
}
