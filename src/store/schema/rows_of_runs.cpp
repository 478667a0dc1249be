// SPDX-License-Identifier: Apache-2.0
#include "store/schema/rows.h"

namespace kappascope::store {
namespace {

constexpr StatusSet kNumber{Status::kOk, Status::kNonFinite};
constexpr StatusSet kKappa{
    Status::kResolved, Status::kBiased, Status::kNotResolvable, Status::kDegenerate};
constexpr StatusSet kKrylov{Status::kConverged,
                            Status::kUncertified,
                            Status::kMaxProducts,
                            Status::kInconsistent,
                            Status::kNonFinite};
constexpr const char* kScaledOnly =
    "for those who train with Adam, which preconditions diagonally; no figure shows it yet";

/// What the rows of one emitter have in common.
struct Group {
  Emitter emitter{};
  Scope scope{};
  StatusSet statuses;
};

/// What one of them has of its own.
struct Own {
  std::string name;
  std::string_view unit, meaning;
  unsigned read_by = kStoreOnly;
  std::string_view why_only_stored{};
};

void add(const Group& group, const std::vector<Own>& rows, std::vector<SeriesInfo>& out) {
  for (const auto& row : rows) {
    out.push_back({.name = row.name,
                   .unit = row.unit,
                   .meaning = row.meaning,
                   .emitter = group.emitter,
                   .scope = group.scope,
                   .statuses = group.statuses,
                   .read_by = row.read_by,
                   .why_only_stored = row.why_only_stored});
  }
}

void add_training(std::vector<SeriesInfo>& out) {
  const Group training{Emitter::kTraining, Scope::kModel, kNumber};
  add(training,
      {{id::kLossTrain, "of the loss", "training loss of the step", kFigure | kStudy},
       {id::kLossTest, "of the loss", "loss on test rows", kFigure | kFindings | kStudy},
       {id::kLearningRate, "1", "learning rate of the step", kFigure | kFindings},
       {id::kGradientNorm, "of the loss", "norm of all gradients before the update", kStudy}},
      out);
  add({Emitter::kClassification, Scope::kModel, kNumber},
      {{id::kAccuracyTest, "share", "test rows classified rightly", kFigure | kStudy},
       {id::kAccuracyDocumentAttack,
        "share",
        "the same of images under the attack of the PGB document",
        kFigure | kStudy},
       {id::kAccuracyFgsm, "share", "the same under FGSM", kFigure | kStudy},
       {id::kAccuracyPgd, "share", "the same under PGD", kFigure | kStudy}},
      out);
  add({Emitter::kTraining, Scope::kModel, {Status::kOk, Status::kResumed}},
      {{id::kMemoryTraining,
        "bytes",
        "at the last step: peak of what tensors took in training steps beyond what was held before "
        "the "
        "first",
        kStudy}},
      out);
  add(training,
      {{id::kCost.of("PROBE"), "share", "training time that one probe took so far", kFindings},
       {id::kCostTotal, "share", "the same of all probing", kFindings | kStudy}},
      out);
  out[out.size() - 2].attribute = attribute::kBudget;
}

void add_learning(std::vector<SeriesInfo>& out) {
  add({Emitter::kLearning, Scope::kLayer, kKappa},
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
      out);
  add({Emitter::kLearning, Scope::kLayer, kNumber},
      {{id::kLearningMeanCosts,
        "1",
        "steps to 90 % with Σ+μμᵀ over those with Σ, 95 % in pairs of rows",
        kFindings | kStudy},
       {id::kLearningBiasLeaves, "1", "the same of Σ+(μ+b)(μ+b)ᵀ", kFindings | kStudy},
       {id::kLearningBiasChanges,
        "1",
        "steps to 90 % with Σ+(μ+b)(μ+b)ᵀ over those with Σ+μμᵀ, the same",
        kFindings | kStudy}},
      out);
}

void add_features(std::vector<SeriesInfo>& out) {
  const Group kappa{Emitter::kFeatures, Scope::kLayer, kKappa};
  const Group number{Emitter::kFeatures, Scope::kLayer, kNumber};
  // Runs of earlier versions have them as plain numbers.
  const Group shape{Emitter::kFeatures, Scope::kLayer, kKappa | kNumber};
  add(kappa,
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
      out);
  add(shape,
      {{id::kEffectiveRank, "features", "exp of the entropy of Σ's spectrum", kStudy},
       {id::kStableRank, "features", "tr Σ / λmax", 0, "a number beside the effective rank"},
       {id::kIsotropy, "1", "(tr Σ)² / (d tr Σ²), 1 when isotropic", kStudy},
       {id::kOutputIsotropy, "1", "isotropy of the layer's output, of W_d Σ W_dᵀ", kStudy},
       {id::kBranchIsotropy, "1", "isotropy of the features of a branch alone", kStudy}},
      out);
  add(number,
      {{id::kKappaSigmaShrunk, "1", "κ of Σ after Ledoit-Wolf shrinkage", kTable},
       {id::kKappaSecondMomentShrunk, "1", "the same of Σ+μμᵀ", kTable},
       {id::kKappaWithBiasShrunk, "1", "the same of Σ+(μ+b)(μ+b)ᵀ", kTable},
       {id::kKappaMeanCosts, "1", "κ(Σ+μμᵀ) / κ(Σ), 95 % in pairs of rows", kFindings},
       {id::kKappaBiasLeaves, "1", "κ(Σ+(μ+b)(μ+b)ᵀ) / κ(Σ), the same", kFindings},
       {id::kMeanCosine, "1", "mean cosine of two tokens' features", kStudy},
       {id::kMeanLeverage,
        "share",
        "of a constant that the features make without a bias",
        0,
        "a study may name it as a metric"},
       {id::kVarianceAlongMean, "φ²", "variance along μ", kClaim},
       {id::kAverageVariance, "φ²", "tr Σ / d, variance along an average direction", kClaim},
       {id::kMeanSquared, "φ²", "‖μ‖², the eigenvalue of μμᵀ", kClaim},
       {id::kLargestVariance, "φ²", "λmax(Σ)", kClaim},
       {id::kBranchMeanCosine, "1", "mean cosine of two tokens' features of it", kStudy},
       {id::kWeightKappa, "1", "κ(W_d): largest over smallest singular value", kStudy},
       {id::kConstantFeatures, "features", "with variance exactly zero", kFindings},
       {id::kDeadFeatures, "features", "identically zero", kFindings},
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
        "tells what the wide route cost"}},
      out);
  out.back().attribute = attribute::kRoute;
}

void add_gradients(std::vector<SeriesInfo>& out) {
  const Group bias{Emitter::kIntercept, Scope::kLayer, kNumber | StatusSet{Status::kUndefined}};
  add(bias,
      {{id::kBiasCos, "1", "cos(b, −μ): 1 where b points against the mean", kFigure | kFindings},
       {id::kBiasResidual, "1", "‖μ+b‖/‖μ‖: what the bias leaves of the mean", kFigure | kFindings},
       {id::kBiasNorm, "φ", "‖b‖", 0, "follows from the two ratios and the mean"}},
      out);
  const Group variance{Emitter::kGradientVariance, Scope::kLayer, kNumber};
  constexpr unsigned kDrawn = kFigure | kFindings;
  add(variance,
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
       {id::kVarianceBiasMinusMean, "gradient²", "the same at b = −E φ", kDrawn},
       {id::kVarianceBiasMinimiser, "gradient²", "the same at the b that minimises it", kDrawn},
       {id::kCriticalBatch,
        "rows",
        "at which the gradient's noise is as large as its mean; n: rows of a step",
        0,
        "an alarm and `kappascope advise` read it"}},
      out);
}

void add_hessian(std::vector<SeriesInfo>& out) {
  constexpr const char* kCurvature = "of the loss";
  add({Emitter::kHessian, Scope::kModel, kKrylov},
      {{id::kHessianLambda.of("K"),
        kCurvature,
        "k-th largest eigenvalue",
        kFigure | kFindings | kStudy},
       {id::kHessianLambdaMin.of("K"), kCurvature, "k-th smallest eigenvalue", kFigure},
       {id::kPreconditionedLambda,
        kCurvature,
        "largest eigenvalue of P^(-1/2) H P^(-1/2), P the optimiser's preconditioner",
        kFigure | kFindings}},
      out);
  add({Emitter::kHessian, Scope::kModel, kNumber},
      {{id::kStabilityLimit,
        kCurvature,
        "what that eigenvalue must stay below at the learning rate of the step",
        kFigure | kFindings},
       {id::kHessianProducts, "products", "of the eigenvalues", 0, "tells what they cost"},
       {id::kHessianTrace, kCurvature, "sum of all eigenvalues", kFindings},
       {id::kHessianNegativeMass,
        "share",
        "of the eigenvalues that are negative",
        0,
        "the figure shows the density that it is of"},
       {id::kHessianNearZeroMass,
        "share",
        "of the eigenvalues near zero",
        0,
        "the figure shows the density that it is of"}},
      out);
  out.push_back({.name = id::kHessianDensity,
                 .unit = "1 / eigenvalue",
                 .meaning = "[4, points]: grid, density, lower, upper",
                 .emitter = Emitter::kHessian,
                 .array = true,
                 .read_by = kFigure});
}

}  // namespace

std::vector<SeriesInfo> rows_of_runs() {
  std::vector<SeriesInfo> rows;
  add_training(rows);
  add_learning(rows);
  add_features(rows);
  add_gradients(rows);
  add_hessian(rows);
  return rows;
}

}  // namespace kappascope::store
