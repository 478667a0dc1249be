// SPDX-License-Identifier: Apache-2.0
#include "kappascope/store/schema/layer_probes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/closest.h"
#include "kappascope/core/error.h"
#include "store/schema/rows.h"

namespace kappascope::store {
namespace {

constexpr StatusSet kKappa{
    Status::kResolved, Status::kBiased, Status::kNotResolvable, Status::kDegenerate};

LayerProbe learning() {
  LayerProbe probe{
      .name = "learning",
      .help = "how many steps of gradient descent a layer needs to learn",
      // A report answers first with learning times, and they are what wide layers resolve.
      .budget_part = 0.75,
      .cost = "one spectrum of the kept rows, at most 1,024 or two a feature"};
  constexpr Provenance kKnown{
      .interval = "95 %: sampling of the sequences, by control variate or jackknife",
      .source = "gradient descent over a spectrum: Saxe et al. 2014; Pedregosa and Scieur 2020",
      .checked = "gradient descent itself on known spectra; coverage by draws"};
  add({.statuses = kKappa, .known = kKnown},
      {{id::kLearningSigma,
        "steps",
        "of gradient descent until 90 % is learned, with Σ: the mean absorbed",
        kFigure | kTable | kStudy},
       {id::kLearningSecondMoment,
        "steps",
        "the same with Σ+μμᵀ: the W_d block without a bias",
        kFigure | kTable | kStudy},
       {id::kLearningWithBias,
        "steps",
        "the same with Σ+(μ+b)(μ+b)ᵀ: the W_d block at the bias b of this moment",
        kFigure | kTable | kStudy},
       {id::kLearningSigmaHalf, "steps", "until half is learned, with Σ", kTable},
       {id::kLearningSecondMomentHalf, "steps", "the same with Σ+μμᵀ", kTable},
       {id::kLearningWithBiasHalf, "steps", "the same with Σ+(μ+b)(μ+b)ᵀ", kTable}},
      probe.series);
  add({.statuses = kNumber, .known = kKnown},
      {{id::kLearningMeanCosts,
        "1",
        "steps to 90 % with Σ+μμᵀ over those with Σ, 95 % in pairs of rows",
        kFigure | kFindings | kStudy},
       {id::kLearningBiasLeaves, "1", "the same of Σ+(μ+b)(μ+b)ᵀ", kFigure | kFindings | kStudy},
       {id::kLearningBiasChanges,
        "1",
        "steps to 90 % with Σ+(μ+b)(μ+b)ᵀ over those with Σ+μμᵀ, the same",
        kFindings | kStudy}},
      probe.series);
  add({.statuses = kNumber,
       .known = {.interval = "exact", .source = "counted", .checked = "the model that was built"}},
      {{id::kLayerWidth, "features", "that enter the down-projection: d_ff", kFindings}},
      probe.series);
  return probe;
}

LayerProbe features() {
  constexpr const char* kScaledOnly =
      "for those who train with Adam, which preconditions diagonally; no figure shows it yet";
  LayerProbe probe{.name = "features",
                   .help = "feature moments and condition numbers",
                   .cost = "XᵀX of all rows, and its decomposition or one factorisation"};
  constexpr std::string_view kByForce = "brute force on the same rows";
  constexpr Provenance kCondition{
      .interval = "95 %: sampling of dependent rows with their kurtosis, rounding, residuals",
      .source = "Marchenko and Pastur 1967; Johnstone 2001",
      .checked = "scikit-learn's EmpiricalCovariance to 1e-11; coverage by draws"};
  constexpr Provenance kShape{
      .interval = "95 %: sampling of the rows",
      .source = "entropy: Roy and Vetterli 2007; traces: U-statistics",
      .checked = "U-statistics over all quadruples of rows; coverage by draws"};
  constexpr Provenance kOfRows{
      .interval = "none: of the rows seen", .source = "its definition", .checked = kByForce};
  constexpr Provenance kShrunk{
      .interval = "none: of the rows seen",
      .source = "Ledoit and Wolf 2004",
      .checked = "Ledoit and Wolf's own code to 1e-12; scikit-learn's LedoitWolf to 1e-10"};
  constexpr Provenance kPaired{.interval = "95 %: errors of the rows in pairs",
                               .source = "delta method, first order",
                               .checked = "coverage by draws"};
  constexpr Provenance kCounted{
      .interval = "exact: of all rows of the window", .source = "counted", .checked = kByForce};
  add({.statuses = kKappa, .known = kCondition},
      {{id::kKappaSigma,
        "1",
        "κ(Σ): of the centred features",
        kFigure | kFindings | kTable | kStudy | kClaim},
       {id::kKappaSecondMoment,
        "1",
        "κ(Σ+μμᵀ): of the W_d block without a bias",
        kFigure | kFindings | kTable | kClaim},
       {id::kKappaWithBias,
        "1",
        "κ(Σ+(μ+b)(μ+b)ᵀ): of the W_d block at the bias b of this moment",
        kFigure | kFindings | kTable},
       {id::kKappaSigmaScaled, "1", "κ(Σ) after scaling to unit diagonal", 0, kScaledOnly},
       {id::kKappaSecondMomentScaled, "1", "the same of Σ+μμᵀ", 0, kScaledOnly},
       {id::kKappaWithBiasScaled, "1", "the same of Σ+(μ+b)(μ+b)ᵀ", 0, kScaledOnly}},
      probe.series);
  // Runs of earlier versions have them as plain numbers.
  add({.statuses = kKappa | kNumber, .known = kShape},
      {{id::kEffectiveRank, "features", "exp of the entropy of Σ's spectrum", kStudy},
       {id::kStableRank, "features", "tr Σ / λmax", 0, "a number beside the effective rank"},
       {id::kIsotropy, "1", "(tr Σ)² / (d tr Σ²), 1 when isotropic", kStudy},
       {id::kOutputIsotropy, "1", "isotropy of the layer's output, of W_d Σ W_dᵀ", kStudy},
       {id::kBranchIsotropy, "1", "isotropy of the features of a branch alone", kStudy}},
      probe.series);
  add({.statuses = kNumber, .known = kShrunk},
      {{id::kKappaSigmaShrunk, "1", "κ of Σ after Ledoit-Wolf shrinkage", kTable},
       {id::kKappaSecondMomentShrunk, "1", "the same of Σ+μμᵀ", kTable},
       {id::kKappaWithBiasShrunk, "1", "the same of Σ+(μ+b)(μ+b)ᵀ", kTable}},
      probe.series);
  add({.statuses = kNumber, .known = kPaired},
      {{id::kKappaMeanCosts, "1", "κ(Σ+μμᵀ) / κ(Σ), 95 % in pairs of rows", kFigure | kFindings},
       {id::kKappaBiasLeaves, "1", "κ(Σ+(μ+b)(μ+b)ᵀ) / κ(Σ), the same", kFigure | kFindings}},
      probe.series);
  add({.statuses = kNumber, .known = kOfRows},
      {{id::kMeanCosine, "1", "mean cosine of two tokens' features", kStudy},
       {id::kMeanLeverage,
        "share",
        "of a constant that the features make without a bias",
        0,
        "a study may name it as a metric"},
       {id::kVarianceAlongMean, "φ²", "variance along μ", kClaim},
       {id::kAverageVariance, "φ²", "tr Σ / d, variance along an average direction", kClaim},
       {id::kMeanSquared, "φ²", "‖μ‖², the eigenvalue of μμᵀ", kClaim},
       {id::kLargestVariance, "φ²", "λmax(Σ)", kClaim},
       {id::kBranchMeanCosine, "1", "mean cosine of two tokens' features of it", kStudy}},
      probe.series);
  add({.statuses = kNumber,
       .known = {.interval = "exact: of the weights of the last step",
                 .source = "its definition",
                 .checked = kByForce}},
      {{id::kWeightKappa, "1", "κ(W_d): largest over smallest singular value", kStudy}},
      probe.series);
  add({.statuses = kNumber, .known = kCounted},
      {{id::kConstantFeatures, "features", "with variance exactly zero", kFindings},
       {id::kNonfiniteRows, "rows", "left out: a number in them is not finite", kFindings},
       {id::kOutsideBfloat16,
        "features",
        "whose largest magnitude bfloat16 cannot hold",
        0,
        "an alarm reads it"},
       {id::kFeatureProducts,
        "products",
        "with Σ or its inverse, 0 for the route decomposition; route: decomposition, factorisation",
        0,
        "cost of the wide route"}},
      probe.series);
  probe.series.back().attribute = attribute::kRoute;
  return probe;
}

LayerProbe magnitudes() {
  LayerProbe probe{.name = "magnitudes",
                   .help = "how large the features are, and what 8-bit formats keep of them",
                   // By its presumed cost it would have a 300th part of the budget, and be seen
                   // once in hours.
                   .budget_part = 0.05,
                   .cost = "two passes over all rows; a sort of at most 4,096 kept ones"};
  constexpr StatusSet kStatuses = kNumber | StatusSet{Status::kUndefined};
  constexpr Provenance kQuantile{.interval = "95 %: sampling of the sequences",
                                 .source = "Woodruff 1952",
                                 .checked = "torch.quantile; coverage by draws of heavy tails"};
  constexpr Provenance kKurtosis{
      .interval = "95 %: sampling of the sequences; 90 % were seen for cubed normal rows",
      .source = "jackknife; massive channels: Sun et al. 2024",
      .checked = "its definition on the values"};
  constexpr Provenance kShare{.interval = "95 %: sampling of the sequences",
                              .source = "Korn and Graubard 1998",
                              .checked = "torch's casts to float8; coverage by draws"};
  add({.statuses = kStatuses,
       .known = {.interval = "exact: of all rows of the window",
                 .source = "its definition",
                 .checked = "trainscope's act_max_abs, to the last bit"}},
      {{id::kLargest, "φ", "largest |φ| of all rows of the window", kFigure | kFindings}},
      probe.series);
  add({.statuses = kNumber,
       .known = {.interval = "exact: of all rows of the window",
                 .source = "counted",
                 .checked = "brute force on the same rows"}},
      {{id::kDeadFeatures, "features", "zero in every row of the window", kFindings}},
      probe.series);
  add({.statuses = kStatuses, .known = kQuantile},
      {{id::kMedianMagnitude, "φ", "median of |φ| over rows and channels", kFigure | kFindings},
       {id::kHighMagnitude, "φ", "99th percentile of |φ|", kFigure}},
      probe.series);
  add({.statuses = kStatuses, .known = kKurtosis},
      {{id::kChannelKurtosis,
        "1",
        "d Σ m² / (Σ m)² of the channels' mean squares m: 1 where all are alike, d where one is "
        "all",
        kFigure}},
      probe.series);
  add({.statuses = kStatuses, .known = kShare},
      {{id::kZeros, "share", "of the values that are exactly 0", kStudy},
       {id::kLostE4m3,
        "share",
        "of the values ≠ 0 that FP8 e4m3 rounds to 0, one scale for all",
        kFigure | kFindings},
       {id::kLostE5m2, "share", "the same of FP8 e5m2", kFigure},
       {id::kLostMxfp8,
        "share",
        "the same of MXFP8 (e4m3, a scale for every 32 neighbouring channels)",
        kFigure | kFindings}},
      probe.series);
  return probe;
}

LayerProbe weights() {
  LayerProbe probe{.name = "weights",
                   .help = "a gated layer's weights: norms, stable ranks, alignment, updates",
                   .budget_part = 0.05,
                   .cost = "some 40 products of each matrix with a vector; 4,096 entries a step"};
  add({.statuses = StatusSet{Status::kConverged,
                             Status::kUncertified,
                             Status::kMaxProducts,
                             Status::kInconsistent,
                             Status::kNonFinite},
       .known = {.interval = "certified: residual of Lanczos, 95 % over the random start",
                 .source = "Golub and Van Loan; stable rank: Rudelson and Vershynin 2007",
                 .checked = "a dense singular value decomposition"}},
      {{id::kDownNorm, "1", "largest singular value of W_d", kFigure},
       {id::kGateNorm, "1", "the same of W_gate", kFigure},
       {id::kUpNorm, "1", "the same of W_up", kFigure},
       {id::kDownStableRank, "1", "stable rank of W_d: ‖W‖_F² over the square of that", kFigure},
       {id::kGateStableRank, "1", "the same of W_gate", kFigure},
       {id::kUpStableRank, "1", "the same of W_up", kFigure}},
      probe.series);
  add({.statuses = kNumber,
       .known = {.interval = "95 %: sampling of the entries; exact of small matrices",
                 .source = "jackknife of groups: Wolter 2007, §4",
                 .checked = "all entries, before and after the step; coverage by draws"}},
      {{id::kDownUpdate,
        "1",
        "‖δ‖ / ‖W_d‖ of a step's update δ as it was stored, root mean square over the window",
        kFigure | kFindings},
       {id::kGateUpdate, "1", "the same of W_gate", kFigure},
       {id::kUpUpdate, "1", "the same of W_up", kFigure}},
      probe.series);
  add({.statuses = kNumber,
       .known = {.interval = "95 %: sampling of the entries",
                 .source = "Wilson 1927; Korn and Graubard 1998",
                 .checked = "all entries, before and after the step"}},
      {{id::kUnchanged,
        "share",
        "of the entries of the three that a step left as they were, to the last bit: what rounding "
        "of the weights lost",
        kFindings}},
      probe.series);
  add({.statuses = kNumber,
       .known = {.interval = "exact: of the weights of the last step",
                 .source = "Fishman et al. 2024",
                 .checked = "torch.nn.functional.cosine_similarity"}},
      {{id::kAlignment,
        "1",
        "|cos| between a channel's rows of W_gate and W_up: median over the channels",
        kFigure | kFindings},
       {id::kLargestAlignment, "1", "the same, the largest", kFigure | kFindings}},
      probe.series);
  return probe;
}

LayerProbe attention() {
  LayerProbe probe{.name = "attention",
                   .help = "largest logits and entropies of attention (of a PyTorch model)",
                   .budget_part = 0.05,
                   .cost = "64 queries of 4 sequences with all their keys"};
  add({.statuses = kNumber,
       .known = {.interval = "exact of a sample of sequences and queries; of all a lower bound",
                 .source = "its definition",
                 .checked = "logits of attention that is written out"}},
      {{id::kLargestLogit,
        "1",
        "largest logit over the heads and the queries that were looked at, before the softmax",
        kFigure | kFindings}},
      probe.series);
  add({.statuses = kNumber,
       .known = {.interval = "95 %: sampling of the sequences, Student's t",
                 .source = "entropy over that of as many keys: Zhai et al. 2023",
                 .checked = "probabilities of attention that is written out"}},
      {{id::kAttentionEntropy,
        "1",
        "entropy of the attention over that of attending to all keys alike, on average",
        kFigure}},
      probe.series);
  add({.statuses = kNumber,
       .known = {.interval = "none: of a sample, and chosen as the lowest",
                 .source = "Zhai et al. 2023",
                 .checked = "probabilities of attention that is written out"}},
      {{id::kLowestEntropy,
        "1",
        "the same of the head that has least: near 0 it looks at one token",
        kFigure}},
      probe.series);
  return probe;
}

LayerProbe gates() {
  LayerProbe probe{.name = "gates",
                   .help = "how far the gates are open, and which never move",
                   .budget_part = 0.02,
                   .cost = "some passes over at most 256 rows of each pass"};
  constexpr std::string_view kByForce = "brute force on the same rows";
  add({.statuses = kNumber,
       .known = {.interval = "95 %: sampling of the sequences",
                 .source = "Wilson 1927; Korn and Graubard 1998",
                 .checked = "brute force on the same rows; coverage by draws"}},
      {{id::kGatesOpen,
        "share",
        "of what enters the activation of the gate, over rows and channels: above 0",
        kFigure},
       {id::kGatesSaturated,
        "share",
        "of the same: beyond ±4, where SiLU passes 98 % or 2 %",
        kFigure}},
      probe.series);
  add({.statuses = kNumber,
       .known = {.interval =
                     "exact of the rows looked at (n); of n independent ones fewer than 3/n "
                     "of all are otherwise",
                 .source = "counted; rule of three: Hanley and Lippman-Hand 1983",
                 .checked = kByForce}},
      {{id::kGatesClosed, "channels", "whose gate is at or below 0 in every row", kFigure},
       {id::kGatesAlwaysOpen, "channels", "whose gate is above 0 in every row", kFigure}},
      probe.series);
  return probe;
}

LayerProbe routers() {
  LayerProbe probe{
      .name = "routers",
      .help = "how evenly and how surely tokens are sent to experts (of a PyTorch model)",
      .budget_part = 0.02,
      .cost = "a product of at most 256 rows of each pass with the router's weight"};
  constexpr std::string_view kByForce = "brute force on the same rows; coverage by draws";
  add({.statuses = kNumber,
       .known = {.interval = "95 %: sampling of the sequences, Student's t",
                 .source = "its definition",
                 .checked = kByForce}},
      {{id::kRouterEntropy,
        "1",
        "entropy of softmax(logits) over that of all experts alike, mean over the tokens",
        kFigure},
       {id::kRouterMargin,
        "nats",
        "logit of the last expert that a token is sent to, less that of the next, mean over the "
        "tokens",
        0,
        "the figure shows how often it is too small"}},
      probe.series);
  add({.statuses = kNumber,
       .known = {.interval = "95 %: sampling of the sequences",
                 .source = "Wilson 1927; Korn and Graubard 1998",
                 .checked = kByForce}},
      {{id::kRouterClose,
        "share",
        "of the tokens whose experts can change when the logits are rounded to bfloat16",
        kFigure}},
      probe.series);
  return probe;
}

LayerProbe intercept() {
  LayerProbe probe{.name = "intercept",
                   .help = "how far the post-gating bias cancels the mean",
                   .cost = "two sums over the features a step",
                   .of_the_bias = true};
  add({.statuses = kNumber | StatusSet{Status::kUndefined},
       .known = {.interval = "95 %: sampling of the sequences, first order",
                 .source = "its definition",
                 .checked = "b = −μ, 0 and μ; coverage by draws"}},
      {{id::kBiasCos, "1", "cos(b, −μ): 1 where b points against the mean", kFigure | kFindings},
       {id::kBiasResidual, "1", "‖μ+b‖/‖μ‖: what the bias leaves of the mean", kFigure | kFindings},
       {id::kBiasNorm, "φ", "‖b‖", 0, "follows from the two ratios and the mean"}},
      probe.series);
  return probe;
}

LayerProbe gradient_variance() {
  constexpr unsigned kDrawn = kFigure | kFindings;
  LayerProbe probe{.name = "gradient_variance",
                   .help = "the gradient variance, beside what Lemma 2 gives",
                   .cost = "two products of tokens · d_ff · d_model"};
  add({.statuses = kNumber,
       .known = {.interval =
                     "95 %: sampling of the sequences; the critical batch takes the rows of "
                     "a sequence for independent",
                 .source = "Lemma 2 of the PGB document; McCandlish et al. 2018",
                 .checked = "the gradients of single tokens; coverage by draws"}},
      {{id::kVarianceMeasured,
        "gradient²",
        "variance of one token's gradient for W_d, as measured",
        kDrawn | kStudy | kClaim},
       {id::kVariancePublished, "gradient²", "as Lemma 2 prints it", kDrawn | kClaim},
       {id::kVarianceDerived, "gradient²", "derived for the dropout that ran", kDrawn | kClaim},
       {id::kVarianceIndependence,
        "gradient²",
        "Cov(y², r²), which the lemma takes for 0",
        kFindings | kClaim},
       {id::kVarianceZeroMean,
        "gradient²",
        "(E[yr])², which the lemma takes for 0",
        kFindings | kClaim},
       {id::kVarianceBiasZero, "gradient²", "the variance at b = 0, all else frozen", kDrawn},
       {id::kVarianceBiasLearned, "gradient²", "the same at the learned b", kDrawn},
       {id::kVarianceBiasMinusMean, "gradient²", "the same at b = −μ", kDrawn},
       {id::kVarianceBiasMinimiser, "gradient²", "the same at the b that minimises it", kDrawn},
       {id::kCriticalBatch,
        "rows",
        "at which the gradient's noise is as large as its mean; n: rows of a step",
        0,
        "an alarm and `kappascope advise` read it"}},
      probe.series);
  return probe;
}

std::vector<LayerProbe> all_probes() {
  std::vector<LayerProbe> probes{learning(),
                                 features(),
                                 magnitudes(),
                                 weights(),
                                 attention(),
                                 gates(),
                                 routers(),
                                 intercept(),
                                 gradient_variance()};
  for (auto& probe : probes) {
    for (auto& row : probe.series) {
      row.emitter = Emitter::kLayerProbe;
      row.probe = probe.name;
      row.scope = Scope::kLayer;
      row.known.cost = probe.cost;
    }
  }
  return probes;
}

}  // namespace

const std::vector<LayerProbe>& layer_probes() {
  static const std::vector<LayerProbe> probes = all_probes();
  return probes;
}

const LayerProbe& layer_probe(std::string_view name) {
  const auto& probes = layer_probes();
  const auto found = std::ranges::find(probes, name, &LayerProbe::name);
  if (found != probes.end()) return *found;
  std::vector<std::string> names;
  names.reserve(probes.size());
  for (const auto& probe : probes) names.emplace_back(probe.name);
  const auto near = closest(std::string(name), names);
  throw UsageError(fmt::format("there is no layer probe '{}'{}; there are {}",
                               name,
                               near.empty() ? "" : fmt::format(": did you mean '{}'?", near),
                               fmt::join(names, ", ")));
}

}  // namespace kappascope::store
