// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "theory/exact/formal_sum.h"
#include "theory/tools/random.h"

/// A gated layer with rational weights, evaluated without rounding: S_j = (u_j·x) act(g_j·x),
/// Z = (S + b) W_d.
namespace kappascope::theory {

/// act(t). SiLU is tσ(t): with σ(t) as a formal symbol every value is exact. GELU is tΦ(t) with
/// Φ(t) + Φ(-t) = 1: equal sums of symbols are equal numbers, and that two different ones are
/// different numbers is seen in floating point (see equal()).
enum class Gate {
  kBilinear,  ///< t
  kRelu,      ///< max(t, 0)
  kSilu,      ///< tσ(t), the gate of SwiGLU
  kGelu,      ///< tΦ(t), the gate of GEGLU
  kLogistic,  ///< σ(t), the gate of the first GLU
};
const char* to_string(Gate gate);
FormalSum activate(Gate gate, const Rational& t);
double logistic(double t);                 ///< the value of the symbol σ(t)
double symbol_value(Gate gate, double t);  ///< of σ(t), or of Φ(t) for GELU
/// The name of the symbol in texts: "σ", or "Φ" for GELU.
const char* symbol_name(Gate gate);

using Values = std::vector<FormalSum>;
Values operator-(Values left, const Values& right);
std::string text(const Values& values, Gate gate = Gate::kSilu);
/// The Euclidean norm.
double norm(const Values& values, Gate gate = Gate::kSilu);
/// Whether two values of layers of that gate are the same numbers; nothing where that is not known.
/// For GELU, whose symbols are not known to be independent, different sums are different numbers
/// only where floating point sees it: from 1e-9 on.
std::optional<bool> equal(const Values& left, const Values& right, Gate gate);

struct GatedLayer {
  Gate gate = Gate::kSilu;
  Matrix<Rational> up, gates;  ///< [d, d_ff] W_u and W_g
  Vector<Rational> bias;       ///< [d_ff] b
  Matrix<Rational> down;       ///< [d_ff, d_model] W_d

  [[nodiscard]] Index d() const { return up.rows(); }
  [[nodiscard]] Index d_ff() const { return up.cols(); }
  [[nodiscard]] Index d_model() const { return down.cols(); }

  [[nodiscard]] Values features(const Vector<Rational>& x) const;    ///< [d_ff] S(x)
  [[nodiscard]] Values operator()(const Vector<Rational>& x) const;  ///< [d_model] Z(x)
  [[nodiscard]] std::string text() const;
};

/// With b = 0.
GatedLayer without_bias(GatedLayer layer);
/// Both layers' units side by side, their outputs added; of one gate and with equal d, d_model.
GatedLayer beside(const GatedLayer& left, const GatedLayer& right);

/// A layer with integer weights from -2 to 2; among its units are silent ones (u = 0 or g = 0),
/// parallel ones (u and g dependent) and mirrored ones (the unit before it with -g).
GatedLayer draw_layer(Gate gate, Index d, Index d_ff, Index d_model, Random&);

/// RMS-normalised inputs: `count` rational points with ‖x‖² = d, different up to sign, images of
/// (1, ..., 1) under reflections. In one dimension the two that there are.
std::vector<Vector<Rational>> normalised_points(Index d, int count, Random& random);

}  // namespace kappascope::theory
