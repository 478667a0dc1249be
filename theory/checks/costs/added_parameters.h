// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "theory/claim.h"
#include "theory/exact/rational.h"

/// What an addition to a gated layer costs: parameters beyond those of W_g, W_u [d, f] and W_d
/// [f, d]. Every parameter of these layers is in one multiplication or addition a token, so the
/// share of the arithmetic is the same one.
namespace kappascope::theory {

enum class Addition {
  kPostGatingBias,  ///< b [f]
  kSpatialPart,     ///< ASGER's W_s, V_s [f, f]
  kIsotropyBranch,  ///< W_iso [k, d], k more columns of W_down, gain and shift [k], t
};
const char* to_string(Addition addition);

struct LayerSizes {
  std::int64_t d = 0, f = 0;
  std::int64_t k = 0;  ///< the width of the isotropy branch
};

/// Added parameters over those of the plain layer.
using AddedShare = std::function<Rational(const LayerSizes&)>;
/// Counted over the shapes of the matrices, at every d and f up to 24 (and k up to 8), and at the
/// sizes of the documents.
Verdict check_added_share(Addition addition, const AddedShare& says);
/// At most `bound` at each of these sizes.
Verdict check_added_at_most(Addition addition,
                            const Rational& bound,
                            const std::vector<LayerSizes>& sizes);

/// The post-gating bias: a ViT-VAE of width 576, gated MLPs of 256, 128 and 64, Phi-3-mini.
std::vector<LayerSizes> bias_sizes();
/// IsoGMLP: d = 768, f = 3072 and an eighth of either as the width of the branch.
std::vector<LayerSizes> branch_sizes();

/// Whether ASGER at width f multiplies more than the standard layer of width 3072, d = 768.
Verdict check_spatial_costs_more(std::int64_t f);

}  // namespace kappascope::theory
