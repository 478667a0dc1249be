// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "reports/diagnosis/diagnosis.h"
#include "reports/runs/arms.h"

namespace kappascope::reports {

using kappascope::side_of;
/// Without an interval it decides nothing.
Side side_of(const std::optional<Ratio>& ratio, double limit);

inline constexpr double kWorthwhile = 1.1;  ///< less is not worth a change
/// Surely less than that, whichever way.
bool is_negligible(const std::optional<Ratio>& ratio);

/// The factor by which it surely differs from 1: how far its interval stays away; 1 where that
/// holds 1, and without one.
double sure_factor(const std::optional<Ratio>& ratio);

/// The one that is surely largest over the layers, by its lower end; with an interval before
/// without.
std::optional<Ratio> largest_of(const Arm& arm,
                                const std::string& prefix,
                                std::optional<Ratio> (*of)(const Arm&, const std::string&));

/// Nothing where one of them is missing, not resolved, or the quotient is no number.
std::optional<Ratio> ratio_of(const std::optional<store::StepValue>& above,
                              const std::optional<store::StepValue>& below);

// The quotients that a report and an advice state of a layer, each of the newest step that has both
// sides. Nothing as ratio_of() says.

/// κ(Σ+μμᵀ) / κ(Σ): what the mean costs. As the run measured it of the same rows in pairs, where it
/// did.
std::optional<Ratio> mean_costs(const Arm& arm, const std::string& layer);
/// κ(Σ+(μ+b)(μ+b)ᵀ) / κ(Σ), the same with the bias b: what b leaves of it. Nothing without b.
std::optional<Ratio> bias_leaves(const Arm& arm, const std::string& layer);
/// κ(Σ+(μ+b)(μ+b)ᵀ) / κ(Σ+μμᵀ): what b makes of the κ that W_d would have without it. Nothing
/// without b.
std::optional<Ratio> bias_changes(const Arm& arm, const std::string& layer);
/// What the mean costs in steps to 90 %, as the run measured it; what b leaves of it; and what b
/// makes of the steps that W_d would need without it.
std::optional<Ratio> steps_mean_costs(const Arm& arm, const std::string& layer);
std::optional<Ratio> steps_bias_leaves(const Arm& arm, const std::string& layer);
std::optional<Ratio> steps_bias_changes(const Arm& arm, const std::string& layer);
/// The gradient's variance at one choice of b over that at b = 0, all else frozen.
std::optional<Ratio> variance_at(const Arm& arm, const std::string& layer, store::SeriesId choice);

/// Whether the run has a post-gating bias there.
bool has_bias(const Arm& arm, const std::string& layer);
/// 1 − ‖μ+b‖/‖μ‖: what the bias has taken of the mean's length; negative where it added to it.
struct Absorbed {
  double share = 0;
  bool resolved = true;  ///< no where its interval holds all of the mean and none of it
  std::int64_t step = 0;
};
std::optional<Absorbed> absorbed(const Arm& arm, const std::string& layer);

}  // namespace kappascope::reports
