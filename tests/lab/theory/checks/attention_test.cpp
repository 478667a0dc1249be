// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/bias_redundancy/attention.h"

#include <cmath>
#include <numbers>

#include "kappascope/core/error.h"
#include "support/catch.h"
#include "theory/checks/bias_redundancy/arithmetic.h"
#include "theory/checks/bias_redundancy/block_cases.h"
#include "theory/exact/linalg.h"

using namespace kappascope;
using namespace kappascope::theory;

namespace {

Vector<double> rounded(const Vector<Rational>& values) {
  return to_double(values).reshaped();
}

/// The same block in units of e: a score counts ln 2, or cap·(ln 2)²/2 under a cap.
AttentionBlock<double> rounded(const AttentionBlock<Rational>& exact) {
  AttentionBlock<double> block;
  block.heads = exact.heads;
  block.kv_heads = exact.kv_heads;
  block.query = to_double(exact.query);
  block.key = to_double(exact.key);
  block.value = to_double(exact.value);
  block.output = to_double(exact.output);
  block.key_bias = rounded(exact.key_bias);
  block.value_bias = rounded(exact.value_bias);
  block.query_gain = rounded(exact.query_gain);
  block.key_gain = rounded(exact.key_gain);
  for (const auto& step : exact.rotary) {
    block.rotary.push_back({step.cosine.to_double(), step.sine.to_double()});
  }
  block.cap = exact.cap.to_double() * std::numbers::ln2;
  block.scale = exact.scale.to_double() * std::numbers::ln2 * (block.cap == 0 ? 1 : block.cap / 2);
  block.causal = exact.causal;
  block.sinks = rounded(exact.sinks) * std::numbers::ln2;
  return block;
}

}  // namespace

TEST_CASE("in fractions e^score is 2^score, and what is no fraction is refused") {
  CHECK(exponential(Rational(-3)) == Rational(1, 8));
  CHECK(exponential(Rational(70)) == exponential(Rational(69)) * 2);
  CHECK_THROWS_AS(exponential(Rational(1, 2)), Error);
  CHECK(soft_capped(Rational(2), Rational(15)) == 9);
  CHECK(soft_capped(Rational(-1), Rational(15)) == -5);
  CHECK(square_root(Rational(49, 25)) == Rational(7, 5));
  CHECK_THROWS_AS(square_root(Rational(2)), Error);
}

TEST_CASE("exact attention is attention") {
  for (const auto& one : exact_blocks()) {
    const auto block = rounded(one.block);
    std::vector<Matrix<double>> masks;
    for (const auto& mask : one.masks) masks.push_back(to_double(mask));
    const auto& input = one.inputs.back();
    const Matrix<double> expected = to_double(attention(one.block, input, one.masks));
    const Matrix<double> actual = attention(block, to_double(input), masks);
    CAPTURE(text(one, input));
    REQUIRE((actual - expected).largest_magnitude() < 1e-13);
  }
}

TEST_CASE("by hand: a causal row of scores 0 and ln 2 with a sink of logit 0") {
  AttentionBlock<double> block;
  block.query = block.key = block.value = block.output = Matrix<double>::identity(1);
  block.causal = true;
  block.sinks = Vector<double>::zero(1);
  const Matrix<double> x{{0}, {std::sqrt(std::numbers::ln2)}};
  const auto p = attention_weights(block, x, 0);
  CHECK(p(0, 0) == Approx(0.5));
  CHECK(p(0, 1) == 0);
  CHECK(p(1, 0) == Approx(0.25));
  CHECK(p(1, 1) == Approx(0.5));
  CHECK(attention(block, x)(1, 0) == Approx(0.5 * std::sqrt(std::numbers::ln2)));
}

TEST_CASE("a window hides what is as far away as it is wide") {
  AttentionBlock<double> block;
  block.query = block.key = block.value = block.output = Matrix<double>::zero(1, 1);
  block.window = 2;
  const Matrix<double> x = Matrix<double>::zero(3, 1);
  const auto p = attention_weights(block, x, 0);
  const Matrix<double> expected{{0.5, 0.5, 0}, {1 / 3.0, 1 / 3.0, 1 / 3.0}, {0, 0.5, 0.5}};
  CHECK((p - expected).largest_magnitude() < 1e-15);
}

TEST_CASE("rotary scores depend on the distance of two tokens only") {
  AttentionBlock<double> block;
  block.query = block.key = block.value = block.output = Matrix<double>::identity(2);
  block.rotary = {{std::cos(1.0), std::sin(1.0)}};
  const Matrix<double> x = Matrix<double>::ones(6, 2) * 0.5;
  const Matrix<double> p = attention_weights(block, x, 0);
  for (Index n = 1; n + 1 < 6; ++n) {
    // One step back and one step ahead have the same cosine for equal tokens.
    CHECK(p(n, n - 1) == Approx(p(n, n + 1)));
    CHECK(p(n, n - 1) / p(n, n) == Approx(std::exp(0.5 * (std::cos(1.0) - 1))));
  }
}
