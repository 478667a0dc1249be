// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "theory/claim.h"
#include "theory/exact/formal_sum.h"

/// What a normalisation makes of a constant offset of its input, N(x + c) - N(x).
///
/// RMSNorm has N(x) = x/√(‖x‖²/d + ε), LayerNorm the same of the centred x. Far out, x = λy with
/// λ -> ∞, N(x + c) - N(x) -> 0: a constant it can only be as zero, and it is zero everywhere only
/// when c has no centred part. A gain without zeros changes nothing of this, and a bias cancels.
namespace kappascope::theory {

enum class NormKind { kRmsNorm, kLayerNorm };
const char* to_string(NormKind kind);

using Halves = std::vector<std::int64_t>;  ///< a vector, in units of 1/2

/// N(x) with ε = quarters/4, exactly; empty where it is 0/0. Every entry is a multiple of one √s.
std::vector<FormalSum> normalise(NormKind kind, std::int64_t quarters, const Halves& x);

struct NormOffset {
  NormKind kind = NormKind::kRmsNorm;
  std::int64_t quarters = 0;     ///< ε in quarters
  Halves offset;                 ///< c
  std::vector<Halves> inputs{};  ///< looked at first; then multiples of c and points around
  [[nodiscard]] std::string text() const;
};

enum class Fate {
  kCarried,  ///< N(x + c) - N(x) is one vector for all x, and not zero unless c is
  kRemoved,  ///< it is zero for all x, and c is not
  kMixed,    ///< it depends on x
};
using OffsetFate = std::function<Fate(const NormOffset&)>;
Fate carried(const NormOffset& one);  ///< always, as published
/// c = 0 is carried, a multiple of 1 is removed by LayerNorm, everything else is mixed.
Fate fate(const NormOffset& one);
/// Hand-sized cases, then 2,500 seeded ones with d up to 4 and ε in {0, 1/4, 1}. Two different
/// values of N(x + c) - N(x) prove "mixed". All three answers must occur when it holds.
Verdict check_norm_offset(const OffsetFate& states, std::uint64_t seed);

/// Whether a norm, as published, adds a constant of its own: LayerNorm has a gain and a bias,
/// RMSNorm a gain.
using AddsConstant = std::function<bool(NormKind)>;
/// Decided by N(x) + N(-x), which is twice the norm's own constant.
Verdict check_own_constant(const AddsConstant& says);

}  // namespace kappascope::theory
