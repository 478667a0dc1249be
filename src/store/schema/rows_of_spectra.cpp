// SPDX-License-Identifier: Apache-2.0
#include "store/schema/rows.h"

namespace kappascope::store {
namespace {

constexpr StatusSet kOk{Status::kOk};
constexpr StatusSet kIteration{
    Status::kConverged, Status::kMaxProducts, Status::kInconsistent, Status::kNonFinite};
constexpr StatusSet kSampling{
    Status::kReached, Status::kDataEnded, Status::kBudget, Status::kNonFinite};
constexpr std::string_view kEigenvalue = "eigenvalue";
constexpr std::string_view kCost = "cost of the part";
constexpr std::string_view kOwnStatus = "the part's numbers carry it too";
constexpr std::string_view kBesideFigure = "the figure shows what it was made for";

struct OfPart {
  SpectrumPart part;
  std::string_view unit, meaning;
  unsigned read_by = kStoreOnly;
  std::string_view why_only_stored{};
};

std::string pattern(SpectrumPart part) {
  return spectrum_series("OPERATOR", "BLOCK", part);
}

void add(StatusSet statuses, const std::vector<OfPart>& rows, std::vector<SeriesInfo>& out) {
  for (const auto& row : rows) {
    out.push_back({.name = pattern(row.part),
                   .unit = row.unit,
                   .meaning = row.meaning,
                   .emitter = Emitter::kSpectrum,
                   .statuses = statuses,
                   .read_by = row.read_by,
                   .why_only_stored = row.why_only_stored});
  }
}

void add_text(SpectrumPart part, std::string_view meaning, std::vector<SeriesInfo>& out) {
  add(kOk, {{part, "none", meaning, kFigure}}, out);
  out.back().attribute = attribute::kText;
}

void add_array(const OfPart& row, std::vector<SeriesInfo>& out) {
  add({}, {row}, out);
  out.back().array = true;
}

void add_eigenvalues(std::vector<SeriesInfo>& out) {
  add(kIteration | StatusSet{Status::kUncertified, Status::kNotAsked},
      {{part::kLambda, kEigenvalue, "the largest, ± its bound", kFigure | kFindings},
       {part::kLambdaMin, kEigenvalue, "the smallest, ± its bound", kFigure | kFindings}},
      out);
  add_array({part::kEigenvalues,
             kEigenvalue,
             "[3, k]: value, residual, bound, descending",
             kFigure | kFindings},
            out);
  add_array(
      {part::kReach,
       kEigenvalue,
       "[2, k]: how far from each another may have been missed (95 %), and may be where it is "
       "certified",
       kFigure},
      out);
  add_array(
      {part::kShare, "share", "[1, k]: of each eigenvector that lies in a parameter", kFigure},
      out);
  out.back().scope = Scope::kParameter;
  add(kIteration,
      {{part::kStatus, "none", "no value: status of them all", kFigure | kFindings}},
      out);
  add(kOk,
      {{part::kCheckpoint, "steps", "training steps taken by then", kFigure | kFindings},
       {part::kRows, "rows", "of the batch", kFigure},
       {part::kParameters, "parameters", "of the block", kFigure},
       {part::kMultiplicity, "1", "1: repeated eigenvalues were looked for", 0, kCost},
       {part::kTop, "eigenvalues", "asked for at each end", kFigure | kFindings},
       {part::kTolerance, "1", "asked for, of the outermost value at the same end", kFigure},
       {part::kProducts, "products", "of the eigenvalues", kFigure | kFindings},
       {part::kSeconds, "s", "of the eigenvalues", 0, kCost}},
      out);
  add({Status::kOk, Status::kNotRecorded},
      {{part::kLearningRate, "1", "the newest before the checkpoint", kFigure},
       {part::kStabilityLimit,
        kEigenvalue,
        "what the largest must stay below, where the optimiser sees this operator",
        kFigure},
       {part::kOtherEnd,
        kEigenvalue,
        "Ritz value at the end that was not asked for, ± its residual",
        kFigure}},
      out);
  add(kOk, {{part::kProductNoise, "1", "relative error of a product", kFigure}}, out);
  add_text(part::kProductType, "number type of the products", out);
  add_text(part::kProductKind, "how a product is computed", out);
  add_text(part::kProductReason, "why it is not exact; empty: it is", out);
}

void add_density(std::vector<SeriesInfo>& out) {
  add_array({part::kDensity,
             "1 / eigenvalue",
             "[7, points]: grid, density, lower, upper, cumulative, lower, upper",
             kFigure},
            out);
  add_array({part::kOutliers, kEigenvalue, "[2, m]: value, bound", kFigure}, out);
  add(kIteration,
      {{part::kDensityStatus, "none", "no value: status of the density", 0, kOwnStatus},
       {part::kNegativeMass, "share", "of the eigenvalues that are negative", kFigure},
       {part::kNearZeroMass, "share", "of the eigenvalues near zero", 0, kBesideFigure},
       {part::kBulkLow, kEigenvalue, "lower end of the bulk", 0, kBesideFigure},
       {part::kBulkHigh, kEigenvalue, "upper end of the bulk", 0, kBesideFigure},
       {part::kOutlierCount, "eigenvalues", "outside the bulk", kFigure},
       {part::kOutlierCountStderr, "eigenvalues", "its standard error", kFigure}},
      out);
  add(kOk,
      {{part::kDensityRows, "rows", "of the batch", 0, kBesideFigure},
       {part::kDensityProducts, "products", "of the density", 0, kCost},
       {part::kDensitySeconds, "s", "of the density", 0, kCost}},
      out);
}

void add_trace(std::vector<SeriesInfo>& out) {
  add(kIteration, {{part::kTrace, kEigenvalue, "sum of all eigenvalues, 95 %", kFigure}}, out);
  add(kOk,
      {{part::kTraceStderr, kEigenvalue, "its standard error", 0, "its interval is shown"},
       {part::kTraceRows, "rows", "of the batch", 0, kBesideFigure},
       {part::kTraceProducts, "products", "of the trace", 0, kCost},
       {part::kTraceSeconds, "s", "of the trace", 0, kCost}},
      out);
}

void add_batches(std::vector<SeriesInfo>& out) {
  add_array({part::kBatches,
             kEigenvalue,
             "[10, k]: mean, lower, upper; bias, lower, upper; value without it, lower, upper; "
             "overlap",
             kFigure},
            out);
  add(kIteration | StatusSet{Status::kUncertified},
      {{part::kBatchesStatus, "none", "no value: status of the batches", 0, kBesideFigure}},
      out);
  add(kOk,
      {{part::kBatchesFromLargest, "eigenvalues", "of the k, counted from the largest", kFigure},
       {part::kBatchesCount, "batches", "independent ones", kFigure},
       {part::kBatchesRows, "rows", "of each", kFigure},
       {part::kBatchesProducts, "products", "of all batches", 0, kCost},
       {part::kBatchesPasses, "passes", "over the data", 0, kCost},
       {part::kBatchesSeconds, "s", "of all batches", 0, kCost}},
      out);
}

void add_leading(std::vector<SeriesInfo>& out) {
  add(kSampling,
      {{part::kLeading, kEigenvalue, "the largest over the data's distribution, 95 %", kFigure}},
      out);
  add(kOk,
      {{part::kLeadingAsked, "1", "relative half-width asked for", 0, kBesideFigure},
       {part::kLeadingBatchRows, "rows", "of the last batch", 0, kBesideFigure},
       {part::kLeadingFreshRows, "rows", "of the independent ones", 0, kBesideFigure},
       {part::kLeadingProducts, "products", "of the interval", 0, kCost},
       {part::kLeadingPasses, "passes", "over the data", 0, kCost},
       {part::kLeadingSeconds, "s", "of the interval", 0, kCost}},
      out);
}

}  // namespace

std::vector<SeriesInfo> rows_of_spectra() {
  std::vector<SeriesInfo> rows;
  add_eigenvalues(rows);
  add_density(rows);
  add_trace(rows);
  add_batches(rows);
  add_leading(rows);
  return rows;
}

}  // namespace kappascope::store
