// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "theory/exact/rational.h"

/// The normalisations in front of which a bias may stand, as their definitions have them. With
/// m = 1ᵀz/d:
///   layer norm    (z - m)/√(Σ(z_i - m)²/d + ε)         over the d features of a token
///   RMS norm      z/√(Σ z_i²/d + ε)                    over the d features of a token
///   batch norm    a layer norm over the n samples of one feature in training, and
///                 (z - running mean)/√(running variance + ε) in evaluation.
/// Gain γ and shift β come after them and are left to the caller.
namespace kappascope::theory {

/// A normalised vector with its root left undone, so that two of them compare without rounding:
/// numerator/√square.
template <typename Scalar>
struct Normalised {
  Vector<Scalar> numerator;
  Scalar square;

  /// Throws Error where the root of a Rational is not one; square must not be zero.
  [[nodiscard]] Vector<Scalar> value() const;
};

/// Defined for double and Rational. An input of no spread has square = ε, which may be zero.
template <typename Scalar>
Normalised<Scalar> rms_norm(const Vector<Scalar>& z, const Scalar& epsilon);
template <typename Scalar>
Normalised<Scalar> layer_norm(const Vector<Scalar>& z, const Scalar& epsilon);

/// Whether both are the same vector, decided by signs and squares; neither square may be zero.
bool same(const Normalised<Rational>& a, const Normalised<Rational>& b);

enum class Norm { kLayer, kRms };
const char* to_string(Norm norm);  ///< "LayerNorm", "RMSNorm"
Normalised<Rational> normalise(Norm norm, const Vector<Rational>& z, const Rational& epsilon);

}  // namespace kappascope::theory
