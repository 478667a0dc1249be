// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/require.h"
#include "lab/cli/spectrum/spectrum.h"
#include "probes/scalars.h"
#include "probes/spectrum_rows.h"

namespace kappascope::cli {
namespace {

namespace part = store::part;
using store::SpectrumPart;
using store::Status;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Records of one operator on one block.
class Records {
 public:
  Records(store::Snapshot& out, const SpectrumRequest& request) : out_(out), request_(request) {}

  store::Scalar& number(SpectrumPart name, double value, Status status = Status::kOk) {
    return out_.scalars.emplace_back(
        store::Scalar{.name = name_of(name), .value = value, .status = status});
  }
  void interval(SpectrumPart name, Status status, double value, double lower, double upper) {
    auto& scalar = number(name, value, status);
    scalar.lower = lower;
    scalar.upper = upper;
  }
  void eigenvalue(SpectrumPart name, const linalg::ExtremeEigenvalues& found, Eigen::Index i) {
    probes::add_eigenvalue(out_, name_of(name), found, i);
  }
  /// No number, but what became of it.
  void outcome(SpectrumPart name, Status status) { number(name, kNan, status); }
  /// No number, but a text.
  void text(SpectrumPart name, const std::string& text) {
    number(name, kNan).attributes[store::attribute::kText] = text;
  }
  /// A row of the table for each vector; all of one length.
  void table(SpectrumPart name,
             const std::vector<const Eigen::VectorXd*>& rows,
             const std::string& layer = "") {
    store::Array array{name_of(name), layer, {}, {}};
    const auto length = rows.front()->size();
    array.shape = {static_cast<int64_t>(rows.size()), length};
    for (const auto* row : rows) {
      require(row->size() == length, "the rows of {} differ in length", name.name());
      array.data.insert(array.data.end(), row->data(), row->data() + length);
    }
    out_.arrays.push_back(std::move(array));
  }

 private:
  [[nodiscard]] std::string name_of(SpectrumPart name) const {
    return store::spectrum_series(request_.kind, request_.block, name);
  }

  store::Snapshot& out_;
  const SpectrumRequest& request_;
};

void add_pairs(Records& out, const SpectrumRequest& request, const SpectrumResult& result) {
  const auto& found = result.pairs.value;
  const Status status = probes::stored_status(found.status);
  const Eigen::Index count = found.eigenvalues.size();
  const auto end = [&](SpectrumPart name, bool asked, Eigen::Index i) {
    if (!asked || count == 0) {
      out.outcome(name, asked ? status : Status::kNotAsked);
      return;
    }
    out.eigenvalue(name, found, i);
  };
  using linalg::SpectrumEnd;
  end(part::kLambda, request.lanczos.which != SpectrumEnd::kSmallest, 0);
  end(part::kLambdaMin, request.lanczos.which != SpectrumEnd::kLargest, count - 1);
  if (const auto& other = found.other_end) {
    out.interval(part::kOtherEnd,
                 Status::kOk,
                 other->value,
                 other->value - other->residual,
                 other->value + other->residual);
  } else {
    out.outcome(part::kOtherEnd, Status::kNotRecorded);
  }
  out.number(part::kMultiplicity, found.multiplicity_checked ? 1 : 0);
  const Eigen::VectorXd none;
  out.table(part::kEigenvalues,
            {&found.eigenvalues, &found.residuals, count > 0 ? &result.bounds : &none});
  out.table(part::kReach, {&found.reach, &found.tolerances});
  for (const auto& name : result.names) {
    Eigen::VectorXd shares(static_cast<Eigen::Index>(result.shares.size()));
    for (std::size_t i = 0; i < result.shares.size(); ++i) {
      const auto& all = result.shares[i];
      const auto mine = std::find_if(
          all.begin(), all.end(), [&](const auto& each) { return each.first == name; });
      shares[static_cast<Eigen::Index>(i)] = mine == all.end() ? 0 : mine->second;
    }
    out.table(part::kShare, {&shares}, name);
  }
  out.outcome(part::kStatus, status);
  out.number(part::kCheckpoint, static_cast<double>(result.checkpoint));
  out.number(part::kRows, static_cast<double>(result.rows));
  out.number(part::kParameters, static_cast<double>(result.parameters));
  out.number(part::kTop, request.lanczos.top);
  out.number(part::kTolerance, request.lanczos.tolerance);
  out.number(part::kProducts, found.products);
  out.number(part::kSeconds, result.pairs.seconds);
  for (const auto& [name, value] : {std::pair{part::kLearningRate, result.learning_rate},
                                    std::pair{part::kStabilityLimit, result.stability_limit}})
    out.number(name, value, std::isfinite(value) ? Status::kOk : Status::kNotRecorded);
  out.number(part::kProductNoise, result.product_noise);
  out.text(part::kProductType, result.type);
  out.text(part::kProductKind, result.product_kind);
  out.text(part::kProductReason, result.product_reason);
}

void add_density(Records& out, const Timed<linalg::Density>& part, int64_t rows) {
  const auto& [density, seconds] = part;
  const Status status = probes::stored_status(density.status);
  out.outcome(part::kDensityStatus, status);
  out.table(part::kDensity,
            {&density.grid,
             &density.density,
             &density.lower,
             &density.upper,
             &density.cumulative,
             &density.cumulative_lower,
             &density.cumulative_upper});
  const auto outliers = static_cast<Eigen::Index>(density.outliers.size());
  Eigen::VectorXd values(outliers), bounds(outliers);
  for (Eigen::Index i = 0; i < outliers; ++i) {
    values[i] = density.outliers[static_cast<std::size_t>(i)].value;
    bounds[i] = density.outliers[static_cast<std::size_t>(i)].bound;
  }
  out.table(part::kOutliers, {&values, &bounds});
  for (const auto& [name, share] : {std::pair{part::kNegativeMass, &density.negative_mass},
                                    std::pair{part::kNearZeroMass, &density.near_zero_mass}})
    out.interval(name, status, share->value, share->lower, share->upper);
  out.number(part::kBulkLow, density.bulk_low, status);
  out.number(part::kBulkHigh, density.bulk_high, status);
  out.number(part::kOutlierCount, density.outlier_count, status);
  out.number(part::kOutlierCountStderr, density.outlier_count_stderr, status);
  out.number(part::kDensityRows, static_cast<double>(rows));
  out.number(part::kDensityProducts, density.products);
  out.number(part::kDensitySeconds, seconds);
}

void add_trace(Records& out, const Timed<linalg::TraceEstimate>& part, int64_t rows) {
  const auto& [trace, seconds] = part;
  out.interval(
      part::kTrace, probes::stored_status(trace.status), trace.value, trace.lower, trace.upper);
  out.number(part::kTraceStderr, trace.standard_error);
  out.number(part::kTraceRows, static_cast<double>(rows));
  out.number(part::kTraceProducts, trace.products);
  out.number(part::kTraceSeconds, seconds);
}

void add_batches(Records& out,
                 const Timed<curvature::SampledEigenvalues>& part,
                 const SpectrumRequest& request) {
  const auto& [sampled, seconds] = part;
  const bool uncertified = sampled.status == linalg::KrylovStatus::kConverged && !sampled.certified;
  out.outcome(part::kBatchesStatus,
              uncertified ? Status(Status::kUncertified) : probes::stored_status(sampled.status));
  std::vector<const Eigen::VectorXd*> rows;
  for (const auto* means : {&sampled.batch, &sampled.bias, &sampled.corrected}) {
    for (const auto* row : {&means->value, &means->lower, &means->upper}) rows.push_back(row);
  }
  Eigen::VectorXd overlap;
  if (sampled.overlap.size() > 0) overlap = sampled.overlap.colwise().mean();
  rows.push_back(&overlap);
  out.table(part::kBatches, rows);
  const bool from_above = request.lanczos.which != linalg::SpectrumEnd::kSmallest;
  const auto found = static_cast<double>(sampled.values.cols());
  out.number(part::kBatchesFromLargest,
             from_above ? std::min<double>(request.lanczos.top, found) : 0);
  out.number(part::kBatchesCount, request.batches);
  out.number(part::kBatchesRows, static_cast<double>(request.rows));
  out.number(part::kBatchesProducts, sampled.products);
  out.number(part::kBatchesPasses, sampled.passes);
  out.number(part::kBatchesSeconds, seconds);
}

void add_top_eigenvalue(Records& out, const Timed<curvature::TopEigenvalue>& part, double asked) {
  const auto& [leading, seconds] = part;
  out.interval(part::kLeading,
               probes::stored_status(leading.status),
               leading.value,
               leading.lower,
               leading.upper);
  out.number(part::kLeadingAsked, asked);
  out.number(part::kLeadingBatchRows, static_cast<double>(leading.batch_rows));
  out.number(part::kLeadingFreshRows, static_cast<double>(leading.fresh_rows));
  out.number(part::kLeadingProducts, leading.products);
  out.number(part::kLeadingPasses, leading.passes);
  out.number(part::kLeadingSeconds, seconds);
}

/// The store numbers steps from 0 and the checkpoint counts those taken.
int64_t step_of(int64_t checkpoint) {
  return std::max<int64_t>(checkpoint - 1, 0);
}

}  // namespace

store::Snapshot to_snapshot(const SpectrumRequest& request,
                            const SpectrumResult& result,
                            bool with_pairs) {
  store::Snapshot out;
  out.step = step_of(result.checkpoint);
  Records records(out, request);
  if (with_pairs) add_pairs(records, request, result);
  if (result.density) add_density(records, *result.density, result.rows);
  if (result.trace) add_trace(records, *result.trace, result.rows);
  if (result.batches) add_batches(records, *result.batches, request);
  if (result.top_eigenvalue) add_top_eigenvalue(records, *result.top_eigenvalue, request.interval);
  out.events.push_back({"spectrum",
                        fmt::format("{} of {} after {} steps on {} rows: {} in {} products",
                                    request.kind,
                                    request.block,
                                    result.checkpoint,
                                    result.rows,
                                    linalg::to_string(result.pairs.value.status),
                                    result.pairs.value.products)});
  return out;
}

bool holds_pairs(const store::RunReader& run, const SpectrumRequest& request, int64_t checkpoint) {
  const auto stored =
      run.scalars({store::spectrum_series(request.kind, request.block, part::kStatus), ""});
  return std::any_of(stored.begin(), stored.end(), [&](const store::StepValue& row) {
    return row.step == step_of(checkpoint);
  });
}

}  // namespace kappascope::cli
