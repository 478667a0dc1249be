// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "theory/claim.h"
#include "theory/exact/rational.h"

/// Why a plain stack of gated layers without any bias learns late: of what order it is in its
/// input.
namespace kappascope::theory {

/// x through L layers x -> ((xW_u) ⊙ act(xW_g) + b) W_d, act the identity or ReLU.
struct PlainStack {
  struct Layer {
    Matrix<Rational> up, gates, down;  ///< [d, f], [d, f], [f, d]
    Matrix<Rational> bias;             ///< [1, f]
  };
  std::vector<Layer> layers;
  bool relu = false;

  [[nodiscard]] Matrix<Rational> operator()(Matrix<Rational> x) const;  ///< [1, d] to [1, d]
  [[nodiscard]] bool has_bias() const;
};

/// The k with f(tx) = t^k f(x) for every t > 0; 0: that there is none.
using OrderStatement = std::function<std::int64_t(const PlainStack&)>;
std::int64_t doubling_order(const PlainStack& stack);  ///< 2^L without bias, none with one

/// On 300 seeded stacks of one to three layers, d and f up to 3, half of them with a bias in every
/// layer, at t = 1/2, 2 and 3. A stack whose output is zero at every input tried is left out.
Verdict check_order_in_input(const OrderStatement& says, std::uint64_t seed);

}  // namespace kappascope::theory
