// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "theory/exact/rational.h"
#include "theory/tools/sizes.h"

namespace kappascope::theory {

/// Where dropout stands and what its mask holds: the four forms of a gradient y_j r with
/// r = uᵀγ. Only r enters, so a law needs no vector γ.
enum class Placement {
  kBeforeBias,  ///< y = M S + b, as Lemma 2 has it
  kAfterBias,   ///< y = M (S + b)
};
enum class Scaling {
  kPlain,     ///< mask values 0 and 1, as Lemma 2 has it
  kInverted,  ///< mask values 0 and 1/p, as LibTorch's dropout
};
struct Dropout {
  Placement placement = Placement::kBeforeBias;
  Scaling scaling = Scaling::kPlain;
};
const char* to_string(const Dropout& dropout);

/// One outcome of kept or not, the feature S and the directional gradient r = uᵀγ.
struct Atom {
  Rational weight;
  bool kept = true;
  Rational feature, gradient;
};

/// A joint law with finitely many outcomes, over which every moment is an exact sum.
class FiniteLaw {
 public:
  /// Weights are positive and are divided by their sum.
  FiniteLaw(std::string text, std::vector<Atom> atoms);

  [[nodiscard]] const std::vector<Atom>& atoms() const { return atoms_; }
  [[nodiscard]] const std::string& text() const { return text_; }

  [[nodiscard]] Sizes sizes() const { return {{"outcomes", std::ssize(atoms_)}}; }

  /// What Lemma 2 speaks of.
  [[nodiscard]] Rational keep() const;      ///< p = P(kept)
  [[nodiscard]] Rational mean() const;      ///< μ = E S
  [[nodiscard]] Rational variance() const;  ///< σ² = Var S
  [[nodiscard]] Rational r2() const;        ///< E r²

  template <typename Value>
  [[nodiscard]] Rational expectation(const Value& value) const {
    Rational sum = 0;
    for (const auto& atom : atoms_) sum += atom.weight * value(atom);
    return sum;
  }

 private:
  std::string text_;
  std::vector<Atom> atoms_;
};

/// The regressor y of one outcome. Throws std::overflow_error for inverted dropout with p = 0.
Rational regressor(const Atom& atom, const Rational& b, const Rational& keep, Dropout dropout);

/// Mask, feature and gradient all independent and E r = 0: the strongest reading of Lemma 2.
/// p in {1, 1/2, 1/4}, constant and spread features, then `draws` seeded laws. E r² > 0.
std::vector<FiniteLaw> independent_laws(std::uint64_t seed, int draws);
/// The same with r = 0 always: what "for any test direction u" includes.
std::vector<FiniteLaw> laws_without_gradient();
/// Only what Lemma 2 prints: M independent of γ and E r = 0; S may depend on either.
std::vector<FiniteLaw> printed_laws(std::uint64_t seed, int draws);
/// Any joint law: nothing is independent, nothing has mean zero.
std::vector<FiniteLaw> arbitrary_laws(std::uint64_t seed, int draws);

}  // namespace kappascope::theory
