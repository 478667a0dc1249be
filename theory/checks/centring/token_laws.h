// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "theory/exact/rational.h"
#include "theory/tools/sizes.h"

namespace kappascope::theory {

/// One value of a random matrix of tokens, and how probable it is.
struct TokenOutcome {
  Rational probability;
  Matrix<Rational> x;  ///< [n, d], a token a row
};

/// A random matrix X with finitely many values, so that E X and E‖X‖_F² are exact sums, and the
/// weights that make U = XW_u and G = XW_g of it.
struct TokenLaw {
  std::vector<TokenOutcome> outcomes;  ///< probabilities add up to one
  Matrix<Rational> up, gate;           ///< [d, f]

  [[nodiscard]] Index tokens() const { return outcomes.front().x.rows(); }
  /// [1, d] μ̄, the average over tokens of E X.
  [[nodiscard]] Matrix<Rational> mean_row() const;
  /// X - 1μ̄ in place of X.
  [[nodiscard]] TokenLaw centred() const;
  [[nodiscard]] Rational expectation(
      const std::function<Rational(const Matrix<Rational>& x)>& value) const;
  [[nodiscard]] Sizes sizes() const;
  [[nodiscard]] std::string text() const;  ///< "X in {0, -2} with probability 1/2 each, W_u = 1"
};

/// Scalar laws in order of size, two tokens, then `draws` seeded ones: n, d, f up to 2, three
/// values at most; constant, already centred, with W_u = 0, and with a mean in the kernel of W_u.
std::vector<TokenLaw> token_laws(std::uint64_t seed, int draws);

}  // namespace kappascope::theory
