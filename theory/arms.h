// SPDX-License-Identifier: Apache-2.0
// The arms that statements on biases compare, by their labels in experiments/, each spelt once.
#pragma once

namespace kappascope::theory::arm {

inline constexpr auto* kNoBias = "no bias";
inline constexpr auto* kPgb = "PGB";
inline constexpr auto* kPgbFromMean = "PGB from the mean";
inline constexpr auto* kOutputBias = "output bias";
inline constexpr auto* kNormBias = "norm bias";
inline constexpr auto* kBoth = "both";
inline constexpr auto* kCentred = "centred";
inline constexpr auto* kCentredOutputBias = "centred, output bias";

}  // namespace kappascope::theory::arm
