// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/dichotomy/plain_stack.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "theory/exact/linalg.h"
#include "theory/tools/draws.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr int kStacks = 300;

Rational power(const Rational& base, std::int64_t exponent) {
  Rational out(1);
  for (std::int64_t i = 0; i < exponent; ++i) out *= base;
  return out;
}

PlainStack draw_stack(Random& random) {
  PlainStack stack;
  stack.relu = random.integer(0, 1) == 1;
  const bool biased = random.integer(0, 1) == 1;
  const auto d = random.integer(1, 3), f = random.integer(1, 3), layers = random.integer(1, 3);
  for (std::int64_t i = 0; i < layers; ++i) {
    stack.layers.push_back(
        {draw_matrix(d, f, 2, random),
         draw_matrix(d, f, 2, random),
         draw_matrix(f, d, 2, random),
         biased ? draw_nonzero_vector(f, 2, random).transpose() : Matrix<Rational>::zero(1, f)});
  }
  return stack;
}

std::string text_of(const PlainStack& stack, const Matrix<Rational>& x) {
  std::string layers;
  for (const auto& layer : stack.layers) {
    layers += fmt::format(
        "; W_u = {}, W_g = {}, b = {}, W_d = {}", layer.up, layer.gates, layer.bias, layer.down);
  }
  return fmt::format("{} gates, x = {}{}", stack.relu ? "ReLU" : "bilinear", x, layers);
}

/// The k with f(tx) = t^k f(x) at these t; nothing where there is none up to that of four layers.
std::optional<std::int64_t> order_at(const PlainStack& stack,
                                     const Matrix<Rational>& x,
                                     const std::vector<Rational>& scales) {
  constexpr std::int64_t kLargest = 16;
  const auto at = stack(x);
  for (std::int64_t k = 1; k <= kLargest; ++k) {
    if (std::ranges::all_of(scales,
                            [&](const Rational& t) { return stack(x * t) == at * power(t, k); }))
      return k;
  }
  return std::nullopt;
}

}  // namespace

Matrix<Rational> PlainStack::operator()(Matrix<Rational> x) const {
  for (const auto& layer : layers) {
    auto gate = x * layer.gates;
    if (relu) gate = gate.map([](const Rational& g) { return g > Rational(0) ? g : Rational(0); });
    x = ((x * layer.up).cwise_product(gate) + layer.bias) * layer.down;
  }
  return x;
}

bool PlainStack::has_bias() const {
  for (const auto& layer : layers) {
    if (!is_zero(layer.bias)) return true;
  }
  return false;
}

std::int64_t doubling_order(const PlainStack& stack) {
  if (stack.has_bias()) return 0;
  return std::int64_t{1} << stack.layers.size();
}

Verdict check_order_in_input(const OrderStatement& says, std::uint64_t seed) {
  const std::vector<Rational> scales = {Rational(1, 2), Rational(2), Rational(3)};
  Tally tally;
  Random random(seed);
  for (int i = 0; i < kStacks; ++i) {
    const auto stack = draw_stack(random);
    const auto x = draw_nonzero_vector(stack.layers.front().up.rows(), 2, random).transpose();
    const auto at = stack(x);
    const auto order = says(stack);
    if (order == 0) {
      // No order: then some scale does not give a power of it. Zero at zero would be one of any.
      const auto origin = stack(x * Rational(0));
      // A bias that W_d takes to zero is none.
      if (is_zero(origin) && (stack.has_bias() || is_zero(at))) continue;
      tally.sizes({{"layers", std::ssize(stack.layers)},
                   {"d", stack.layers.front().up.rows()},
                   {"d_ff", stack.layers.front().up.cols()}});
      tally.record(!is_zero(origin) || !order_at(stack, x, scales), [&] {
        return Witness{fmt::format("{}: f(0) = {}", text_of(stack, x), origin),
                       origin.largest_magnitude().to_double(),
                       0};
      });
      continue;
    }
    if (is_zero(at)) continue;
    for (const auto& t : scales) {
      const auto scaled = stack(x * t), stated = at * power(t, order);
      tally.sizes({{"layers", std::ssize(stack.layers)},
                   {"d", stack.layers.front().up.rows()},
                   {"d_ff", stack.layers.front().up.cols()}});
      tally.record(scaled == stated, [&] {
        return Witness{fmt::format("{}: f(x) = {}, f({}·x) = {}, and {}^{}·f(x) = {}",
                                   text_of(stack, x),
                                   at,
                                   t,
                                   scaled,
                                   t,
                                   order,
                                   stated),
                       scaled.largest_magnitude().to_double(),
                       stated.largest_magnitude().to_double()};
      });
    }
  }
  return tally.verdict("f(tx)", "t^k f(x)", "exact");
}

}  // namespace kappascope::theory
