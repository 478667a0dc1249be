// SPDX-License-Identifier: Apache-2.0
/// @file
/// The probes of a layer, one row each: the trainer's settings, Python's attach(probes=), the
/// schema and the budget read what they offer here. What makes them is in probes/layer_probes.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kappascope/store/schema/schema.h"
#include "kappascope/store/schema/series.h"

namespace kappascope::store {

struct LayerProbe {
  std::string_view name;  ///< "gradient_variance", as Probe::name() has it
  std::string_view help;  ///< what it measures
  /// Of the time of all layer probes; 0: of what the others leave, by Probe::presumed_cost().
  double budget_part = 0;
  std::string_view cost{};   ///< what a window computes
  bool by_default = true;    ///< whether it runs where nobody says
  bool of_the_bias = false;  ///< measures a post-gating bias, and nothing where there is none
  std::vector<SeriesInfo> series{};  ///< what it writes, in the order of the table
};

/// In the order in which they run and are listed.
const std::vector<LayerProbe>& layer_probes();
/// The probe of that name. Throws UsageError where there is none, with the name that is closest.
const LayerProbe& layer_probe(std::string_view name);

namespace id {

// learning
inline constexpr SeriesId kLearningSigma{"learning/sigma"};
inline constexpr SeriesId kLearningSecondMoment{"learning/second_moment"};
inline constexpr SeriesId kLearningWithBias{"learning/with_bias"};
inline constexpr SeriesId kLearningSigmaHalf{"learning/sigma_half"};
inline constexpr SeriesId kLearningSecondMomentHalf{"learning/second_moment_half"};
inline constexpr SeriesId kLearningWithBiasHalf{"learning/with_bias_half"};
inline constexpr SeriesId kLearningMeanCosts{"learning/mean_costs"};
inline constexpr SeriesId kLearningBiasLeaves{"learning/bias_leaves"};
inline constexpr SeriesId kLearningBiasChanges{"learning/bias_changes"};
inline constexpr SeriesFamily kLearning{"learning/"};
inline constexpr SeriesId kLayerWidth{"layer/width"};

// features
inline constexpr SeriesId kKappaSigma{"kappa/sigma"};
inline constexpr SeriesId kKappaSecondMoment{"kappa/second_moment"};
inline constexpr SeriesId kKappaWithBias{"kappa/with_bias"};
inline constexpr SeriesId kKappaSigmaScaled{"kappa/sigma_scaled"};
inline constexpr SeriesId kKappaSecondMomentScaled{"kappa/second_moment_scaled"};
inline constexpr SeriesId kKappaWithBiasScaled{"kappa/with_bias_scaled"};
inline constexpr SeriesId kKappaSigmaShrunk{"kappa/sigma_shrunk"};
inline constexpr SeriesId kKappaSecondMomentShrunk{"kappa/second_moment_shrunk"};
inline constexpr SeriesId kKappaWithBiasShrunk{"kappa/with_bias_shrunk"};
inline constexpr SeriesId kKappaMeanCosts{"kappa/mean_costs"};
inline constexpr SeriesId kKappaBiasLeaves{"kappa/bias_leaves"};
inline constexpr SeriesFamily kKappas{"kappa/"};

inline constexpr SeriesId kEffectiveRank{"features/effective_rank"};
inline constexpr SeriesId kStableRank{"features/stable_rank"};
inline constexpr SeriesId kIsotropy{"features/isotropy"};
inline constexpr SeriesId kMeanCosine{"features/mean_cosine"};
inline constexpr SeriesId kMeanLeverage{"features/mean_leverage"};
inline constexpr SeriesId kVarianceAlongMean{"features/variance_along_mean"};
inline constexpr SeriesId kAverageVariance{"features/average_variance"};
inline constexpr SeriesId kMeanSquared{"features/mean_squared"};
inline constexpr SeriesId kLargestVariance{"features/largest_variance"};
inline constexpr SeriesId kOutputIsotropy{"features/output_isotropy"};
inline constexpr SeriesId kBranchIsotropy{"features/branch_isotropy"};
inline constexpr SeriesId kBranchMeanCosine{"features/branch_mean_cosine"};
inline constexpr SeriesId kWeightKappa{"weight/kappa"};
inline constexpr SeriesId kConstantFeatures{"features/constant"};
inline constexpr SeriesId kDeadFeatures{"features/dead"};
inline constexpr SeriesId kNonfiniteRows{"features/nonfinite_rows"};
inline constexpr SeriesId kOutsideBfloat16{"features/outside_bfloat16"};
inline constexpr SeriesId kFeatureProducts{"features/products"};

// magnitudes
inline constexpr SeriesId kLargest{"magnitude/largest"};
inline constexpr SeriesId kMedianMagnitude{"magnitude/median"};
inline constexpr SeriesId kHighMagnitude{"magnitude/p99"};
inline constexpr SeriesId kChannelKurtosis{"magnitude/channel_kurtosis"};
inline constexpr SeriesId kZeros{"magnitude/zeros"};
inline constexpr SeriesId kLostE4m3{"magnitude/lost_e4m3"};
inline constexpr SeriesId kLostE5m2{"magnitude/lost_e5m2"};
inline constexpr SeriesId kLostMxfp8{"magnitude/lost_mxfp8"};

// weights
inline constexpr SeriesId kDownNorm{"weight/down_norm"};
inline constexpr SeriesId kGateNorm{"weight/gate_norm"};
inline constexpr SeriesId kUpNorm{"weight/up_norm"};
inline constexpr SeriesId kDownStableRank{"weight/down_stable_rank"};
inline constexpr SeriesId kGateStableRank{"weight/gate_stable_rank"};
inline constexpr SeriesId kUpStableRank{"weight/up_stable_rank"};
inline constexpr SeriesId kDownUpdate{"weight/down_update"};
inline constexpr SeriesId kGateUpdate{"weight/gate_update"};
inline constexpr SeriesId kUpUpdate{"weight/up_update"};
inline constexpr SeriesId kUnchanged{"weight/unchanged"};
inline constexpr SeriesId kAlignment{"weight/alignment"};
inline constexpr SeriesId kLargestAlignment{"weight/alignment_largest"};

// attention
inline constexpr SeriesId kLargestLogit{"attention/largest_logit"};
inline constexpr SeriesId kAttentionEntropy{"attention/entropy"};
inline constexpr SeriesId kLowestEntropy{"attention/lowest_entropy"};

// gates
inline constexpr SeriesId kGatesOpen{"gates/open"};
inline constexpr SeriesId kGatesSaturated{"gates/saturated"};
inline constexpr SeriesId kGatesClosed{"gates/closed"};
inline constexpr SeriesId kGatesAlwaysOpen{"gates/always_open"};

// routers
inline constexpr SeriesId kRouterEntropy{"router/entropy"};
inline constexpr SeriesId kRouterMargin{"router/margin"};
inline constexpr SeriesId kRouterClose{"router/close"};

// intercept
inline constexpr SeriesId kBiasCos{"bias/cos"};
inline constexpr SeriesId kBiasResidual{"bias/residual"};
inline constexpr SeriesId kBiasNorm{"bias/norm"};
inline constexpr SeriesFamily kBias{"bias/"};

// gradient_variance
inline constexpr SeriesId kVarianceMeasured{"gradvar/measured"};
inline constexpr SeriesId kVariancePublished{"gradvar/published"};
inline constexpr SeriesId kVarianceDerived{"gradvar/derived"};
inline constexpr SeriesId kVarianceIndependence{"gradvar/independence"};
inline constexpr SeriesId kVarianceZeroMean{"gradvar/zero_mean"};
inline constexpr SeriesId kVarianceBiasZero{"gradvar/b_zero"};
inline constexpr SeriesId kVarianceBiasLearned{"gradvar/b_learned"};
inline constexpr SeriesId kVarianceBiasMinusMean{"gradvar/b_minus_mean"};
inline constexpr SeriesId kVarianceBiasMinimiser{"gradvar/b_minimiser"};
inline constexpr SeriesFamily kVarianceAtBias{"gradvar/b_"};
inline constexpr SeriesId kCriticalBatch{"gradvar/critical_batch"};

}  // namespace id

}  // namespace kappascope::store
