// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "theory/checks/offset_routes/gated_layer.h"
#include "theory/claim.h"

/// Which functions a gated layer computes without a bias, with the post-gating bias b, and with a
/// bias c on its output: SW_d, (S + b)W_d = SW_d + bW_d, and SW_d + c.
namespace kappascope::theory {

/// A layer with b, and what a bias-free layer that replaces it may have.
struct BiasRemoval {
  GatedLayer layer;
  bool normalised = false;  ///< inputs: ‖x‖² = d, or all of R^d
  Index extra = 0;          ///< hidden units more than the layer has
  [[nodiscard]] std::string text() const;
};
/// Hand-sized cases, then 2,000 seeded ones with d and d_ff up to 3: on all of R^d with any extra
/// width, and on normalised inputs with 2d more units.
std::vector<BiasRemoval> bias_removals(std::uint64_t seed);

/// Whether a bias-free layer computes the same function on those inputs.
using Replaceable = std::function<bool(const BiasRemoval&)>;
bool always_replaceable(const BiasRemoval& one);  ///< as published
/// On normalised inputs; elsewhere exactly when bW_d = 0.
bool replaceable(const BiasRemoval& one);
/// On R^d: a bias-free layer has Z(0) = 0, whatever its width and weights; where the layer has
/// Z(0) = 0 its own units without b are compared with it. On normalised inputs: the layer's units
/// beside the 2d that make the constant bW_d are compared with it. Exact, both answers occur.
Verdict check_replaceable(const Replaceable& says, std::uint64_t seed);

/// A bias-free layer, and an output bias c that b shall make at the same W_d.
struct OutputBias {
  GatedLayer layer;
  Vector<Rational> c;  ///< [d_model]
  [[nodiscard]] std::string text() const;
};
/// Hand-sized cases, then 2,500 seeded ones with d_ff and d_model up to 4: W_d zero, of deficient
/// and of full rank, wide and tall, c inside and outside its row space.
std::vector<OutputBias> output_biases(std::uint64_t seed);

/// Whether some b gives SW_d + c.
using Absorbs = std::function<bool(const OutputBias&)>;
bool absorbs(const OutputBias& one);         ///< c is orthogonal to the null space of W_d
bool absorbs_always(const OutputBias& one);  ///< yes
/// Decided by solving bW_d = c; where a b is found, the two layers are compared at inputs.
Verdict check_absorbed(const Absorbs& says, const std::vector<OutputBias>& cases);

/// Whether every c can be made at this W_d.
using AbsorbsAll = std::function<bool(const Matrix<Rational>& down)>;
bool full_row_space(const Matrix<Rational>& down);  ///< rank W_d = d_model
Verdict check_absorbs_all(const AbsorbsAll& says, std::uint64_t seed);

/// A layer with b, without an output bias, that computes SW_d + c.
using OutputBiasBuilder = std::function<GatedLayer(const OutputBias&)>;
/// One unit more, with u = g = 0, b = 1 and c as its row of W_d.
GatedLayer one_more_unit(const OutputBias& one);
Verdict check_output_bias_builder(const OutputBiasBuilder& build, std::uint64_t seed);

}  // namespace kappascope::theory
