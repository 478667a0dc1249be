// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/diagnosis/usual.h"

namespace kappascope::reports {

/// What every run is asked. Page, `advise`, `runs` and the terminal phrase the answers.
enum class Question : std::uint8_t {
  kWorstLayer,    ///< does the down-projection that learns slowest limit a run of this length?
  kLearningRate,  ///< is it too high?
  kBias,          ///< does the post-gating bias help, or would one?
  kBatchSize,
  kPrecision,     ///< do the features fit the format of their numbers?
  kFeatureScale,  ///< would features of equal scale condition the block better?
  kDeadUnits,
  kMassive,    ///< are a few activations of another order than the rest?
  kAlignment,  ///< does a channel square one projection?
  kEightBit,   ///< would FP8 with one scale for a tensor round many features to zero?
  kTrust,      ///< how much of what the other answers rest on is resolved?
  kCost,       ///< of probing, as a share of the training time
  kNextStep,
};

/// How things stand; what asks for more attention is the larger. kOpen: the numbers cannot tell.
enum class Grade : std::uint8_t { kGood, kOpen, kWatch, kBad };

/// What was decided. An interval that holds the threshold decides nothing.
enum class Verdict : std::uint8_t {
  kNotMeasured,
  kTooEarly,       ///< measured in the first tenth of the run alone
  kUndecided,      ///< not resolved, or the interval holds the threshold
  kFine,           ///< nothing to do
  kLimits,         ///< the layer needs as many steps as the run has (resolved: about), or more
  kDiverged,       ///< the loss stopped being a number
  kRose,           ///< the training loss ends far above where it began
  kAtLimit,        ///< the sharpness passed the optimiser's stability limit
  kSpikes,         ///< of the training loss, far above all before
  kHelps,          ///< the bias, in every layer that has one
  kHelpsInPart,    ///< in some, and harms in none
  kMixed,          ///< it helps in some and harms in others
  kHarms,          ///< the block learns more slowly with the bias
  kNotTaken,       ///< the mean costs a factor that the bias has not taken up
  kWorthATrial,    ///< the mean costs a factor, and there is no bias
  kUsual,          ///< the mean costs a factor, no larger than is usual of such layers
  kMeanHelps,      ///< the block would learn more slowly without the mean
  kNothingToGain,  ///< the mean costs less than 10 %
  kNegligible,     ///< the bias changes less than 10 %, whichever way
  kTooSmall,       ///< the batch: the gradient is mostly noise
  kTooLarge,
  kNonFinite,   ///< features hold NaN or infinity
  kOutOfRange,  ///< features lie outside of what bfloat16 can hold
  kUneven,      ///< the scales of the features cost a factor
  kDead,        ///< features are zero or constant
  kDeadLayer,   ///< half of the features of a layer, or more, are zero in every row
  kOutliers,    ///< the largest activation is above 100, and above 1,000 times the median
  kAligned,     ///< |cos| of a channel's gate and up-projection is above 0.9
  kLossy,       ///< more than 1 % of the features would become zero
  kUnresolved,  ///< estimates that their rows do not resolve, or damaged values
  kCostly,      ///< probing takes more than 2 % and more than twice its budget
};

/// What an answer asks for; the name of the suggestion in `advise`.
enum class Action : std::uint8_t {
  kFloat32,
  kLowerRate,
  kWarmUp,
  kLargerBatch,
  kSmallerBatch,
  kNorm,
  kTryBias,
  kRevive,
  kCheckBatch,  ///< of the step at which the loss rose, where the sharpness lay below its limit
};

// Ids that stay the same between versions: "learning_rate", "cannot tell", "at_limit", "warm-up".
std::string_view to_string(Question question);
std::string_view to_string(Grade grade);
std::string_view to_string(Verdict verdict);
std::string_view to_string(Action action);

/// A stored number that an answer rests on.
struct Evidence {
  std::string series{}, layer{};  ///< as the store has them (store/schema/series.h)
  std::int64_t step = 0;
};

/// An answer as numbers and ids. The numbers are in the unit of the first evidence's series, or
/// a share.
struct Diagnosis {
  Question question{};
  Verdict verdict = Verdict::kNotMeasured;
  Grade grade = Grade::kOpen;
  std::optional<double> value{}, lower{}, upper{};  ///< resolved, or missing; 95 % interval
  std::optional<double> threshold{};                ///< what decides between the verdicts
  std::vector<Evidence> evidence{};                 ///< what decides, first
  std::optional<Action> action{};
};

/// A quotient of two estimates with the interval that follows from theirs. Each holds with 95 %, so
/// both hold, and with them the quotient's, with at least 90 % whatever their dependence.
struct Ratio {
  double value = 0;
  std::optional<double> lower{}, upper{};  ///< both, or none
  std::int64_t step = 0;
  std::string layer{};
  bool paired = false;    ///< the interval is of the quotient itself, row by row, with 95 %
  std::size_t seeds = 0;  ///< not 0: a median over runs, with range_over_seeds()
};

/// What the features' mean costs one down-projection, and what a bias does about it. The ratios are
/// of steps of gradient descent to learn 90 %, else of κ.
struct LayerBias {
  std::size_t arm = 0;  ///< among those that were asked of
  std::string layer{};
  std::int64_t step = 0;  ///< of the measurement: the last of the run
  bool has_bias = false;  ///< it trains a post-gating bias b
  bool in_steps = false;
  /// Σ+μμᵀ over Σ: without a bias, over what is left for W_d where a bias takes the mean up.
  std::optional<Ratio> mean_costs{};
  /// Σ+(μ+b)(μ+b)ᵀ over Σ: what the bias has left of it.
  std::optional<Ratio> bias_leaves{};
  /// Σ+(μ+b)(μ+b)ᵀ over Σ+μμᵀ: what the bias makes of what there would be without it.
  std::optional<Ratio> bias_changes{};
  std::optional<Usual> usual{};  ///< of what the mean costs, where `in_steps`
  Verdict decided = Verdict::kUndecided;
};

}  // namespace kappascope::reports
