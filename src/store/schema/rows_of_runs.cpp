// SPDX-License-Identifier: Apache-2.0
#include "kappascope/store/schema/layer_probes.h"
#include "store/schema/rows.h"

namespace kappascope::store {
namespace {

constexpr StatusSet kKrylov{Status::kConverged,
                            Status::kUncertified,
                            Status::kMaxProducts,
                            Status::kInconsistent,
                            Status::kNonFinite};

void add_training(std::vector<SeriesInfo>& out) {
  const Group training{Emitter::kTraining, Scope::kModel, kNumber};
  add(training,
      {{id::kLossTrain, "of the loss", "training loss of the step", kFigure | kStudy},
       {id::kLossTest, "of the loss", "loss on test rows", kFigure | kFindings | kStudy},
       {id::kLearningRate, "1", "learning rate of the step", kFigure | kFindings},
       {id::kGradientNorm,
        "of the loss",
        "norm of all gradients before the update",
        kFigure | kStudy}},
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
        "at the last step: peak of what tensors took in training steps that no probe watched "
        "beyond what was held before the first",
        kStudy}},
      out);
  add(training,
      {{id::kCost.of("PROBE"), "share", "training time that one probe took so far", kFindings},
       {id::kCostTotal, "share", "the same of all probing", kFigure | kFindings | kStudy}},
      out);
  out[out.size() - 2].attribute = attribute::kBudget;
  add(training,
      {{id::kStepSeconds,
        "s",
        "a training step without the probes, on average since the row before",
        kFigure | kFindings},
       {id::kStepRows,
        "rows",
        "rows (tokens) of a step, of all processes, in the layer through which most passed; a mean "
        "over the window",
        kFigure},
       {id::kMemoryProcess, "bytes", "the most that process 0 held in main memory so far", kFigure},
       {id::kMemoryDevice,
        "bytes",
        "the most that tensors held on the device so far, of process 0",
        kFigure}},
      out);
  add({Emitter::kTraining, Scope::kLayer, kNumber},
      {{id::kLayerRows,
        "rows",
        "the same of each layer, where they differ: how tokens are shared among experts",
        kFigure | kFindings}},
      out);
}

void add_hessian(std::vector<SeriesInfo>& out) {
  constexpr const char* kCurvature = "of the loss";
  constexpr Provenance kEigenvalues{
      .interval = "certified: residual and noise of products, 95 % over the random start",
      .source = "Lanczos; Pearlmutter 1994; limits: Cohen et al. 2021 and 2022",
      .checked = "a dense Hessian; Chebyshev task of edge-of-stability; closed forms",
      .cost = "products: about 30 to 60 for five at each end"};
  constexpr Provenance kDensity{
      .interval = "95 %: spread of the start vectors, Student's t",
      .source = "stochastic Lanczos quadrature: Ubaru, Chen and Saad 2017",
      .checked = "dense spectra; the trace of a dense Hessian",
      .cost = "60 products a start vector"};
  constexpr Provenance kOneProduct{.interval = "bound: noise of a product times the norm",
                                   .source = "Arora et al. 2022; Bai et al. 2025",
                                   .checked = "a dense Hessian",
                                   .cost = "one product"};
  constexpr Provenance kExact{
      .interval = "exact", .source = "Cohen et al. 2021 and 2022", .checked = "quadratic losses"};
  add({Emitter::kHessian, Scope::kModel, kKrylov, kEigenvalues},
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
  add({Emitter::kHessian, Scope::kModel, kNumber, kOneProduct},
      {{id::kAlongGradient,
        kCurvature,
        "gᵀHg / gᵀg, the curvature along the gradient g of the same loss",
        kFigure},
       {id::kPreconditionedAlongGradient,
        kCurvature,
        "the same of P^(-1/2) H P^(-1/2) along P^(-1/2) g: what the optimiser meets along P⁻¹g",
        kFigure}},
      out);
  add({Emitter::kHessian, Scope::kModel, kNumber, kExact},
      {{id::kStabilityLimit,
        kCurvature,
        "what that eigenvalue must stay below at the learning rate of the step",
        kFigure | kFindings}},
      out);
  add({Emitter::kHessian,
       Scope::kModel,
       kNumber,
       {"exact", "counted", "calls of the operator", ""}},
      {{id::kHessianProducts, "products", "of the eigenvalues", 0, "cost of the eigenvalues"}},
      out);
  add({Emitter::kHessian, Scope::kModel, kNumber, kDensity},
      {{id::kHessianTrace, kCurvature, "sum of all eigenvalues", kFindings},
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
                 .read_by = kFigure,
                 .known = kDensity});
}

void add_critical_step(std::vector<SeriesInfo>& out) {
  add({Emitter::kCriticalStep,
       Scope::kModel,
       {Status::kResolved, Status::kNotResolvable, Status::kNonFinite},
       {.interval = "bounds: losses that were evaluated",
        .source = "arXiv 2601.16979",
        .checked = "quadratic losses, whose crossing is known",
        .cost = "5 to 8 forward passes"}},
      {{id::kCriticalStep,
        "steps",
        "multiple of the optimiser's last step at which the loss on a fixed batch is back where it "
        "was before it; n: evaluations",
        kFigure}},
      out);
}

}  // namespace

void add(const Group& group, const std::vector<Own>& rows, std::vector<SeriesInfo>& out) {
  for (const auto& row : rows) {
    out.push_back({.name = row.name,
                   .unit = row.unit,
                   .meaning = row.meaning,
                   .emitter = group.emitter,
                   .scope = group.scope,
                   .statuses = group.statuses,
                   .read_by = row.read_by,
                   .why_only_stored = row.why_only_stored,
                   .known = group.known});
  }
}

std::vector<SeriesInfo> rows_of_runs() {
  std::vector<SeriesInfo> rows;
  add_training(rows);
  for (const auto& probe : layer_probes())
    rows.insert(rows.end(), probe.series.begin(), probe.series.end());
  add_hessian(rows);
  add_critical_step(rows);
  return rows;
}

}  // namespace kappascope::store
