// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "theory/exact/rational.h"

namespace kappascope::theory {

/// An offset that enters a linear map, and the one that should leave it: Δ is an exact fit when
/// Δ b_in = b_out.
struct OffsetPair {
  Vector<Rational> in;   ///< [n] b_in
  Vector<Rational> out;  ///< [m] b_out
  [[nodiscard]] std::string text() const;
};

/// Hand-sized pairs in order of size, then 2,000 seeded ones with n and m up to 4; b_in ≠ 0.
std::vector<OffsetPair> offset_pairs(std::uint64_t seed);
/// Pairs with b_in = 0, for which there is no exact fit unless b_out = 0.
std::vector<OffsetPair> pairs_without_input();

/// An exact fit: Δ = Δ* + E, with Δ* = b_out b_inᵀ/‖b_in‖² and E b_in = 0.
struct OffsetFit {
  OffsetPair offsets;          ///< b_in ≠ 0
  Matrix<Rational> deviation;  ///< [m, n] E

  [[nodiscard]] Matrix<Rational> map() const;  ///< Δ
  [[nodiscard]] Rational least_norm2() const;  ///< s² = ‖b_out‖²/‖b_in‖²
  [[nodiscard]] std::string text() const;
};

/// Hand-sized fits, then 2,500 seeded ones with n and m up to 4: E zero, generic, with Eᵀb_out = 0,
/// and with an operator norm below, at and above s.
std::vector<OffsetFit> offset_fits(std::uint64_t seed);

/// Noise about an offset: x is one of the rows of `samples` or its negative, all equally likely,
/// so E x = 0.
struct NoisyOffset {
  OffsetPair offsets;
  Matrix<Rational> samples;  ///< [k, n]

  [[nodiscard]] Matrix<Rational> sigma() const;  ///< [n, n] E xxᵀ
  [[nodiscard]] std::string text() const;
};

/// Hand-sized cases, then 2,000 seeded ones with n up to 4 and k up to 5: Σ zero, of rank one,
/// singular, isotropic and general, b_in zero, inside and outside its range.
std::vector<NoisyOffset> noisy_offsets(std::uint64_t seed);

}  // namespace kappascope::theory
