// SPDX-License-Identifier: Apache-2.0
#include "cli/spectrum/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kappascope/core/error.h"

namespace kappascope::cli {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Records whose names begin alike.
class Records {
 public:
  Records(store::Snapshot& out, std::string prefix) : out_(out), prefix_(std::move(prefix)) {}

  store::Scalar& number(const std::string& name, double value, const std::string& status = "ok") {
    return out_.scalars.emplace_back(
        store::Scalar{.name = prefix_ + name, .value = value, .status = status});
  }
  void interval(const std::string& name,
                const std::string& status,
                double value,
                double lower,
                double upper) {
    auto& scalar = number(name, value, status);
    scalar.lower = lower;
    scalar.upper = upper;
  }
  /// No number, but words.
  void words(const std::string& name, const std::string& text) { number(name, kNan, text); }
  /// A row of the table for each vector; all of one length.
  void table(const std::string& name,
             const std::vector<const Eigen::VectorXd*>& rows,
             const std::string& layer = "") {
    store::Array array{prefix_ + name, layer, {}, {}};
    const auto length = rows.front()->size();
    array.shape = {static_cast<int64_t>(rows.size()), length};
    for (const auto* row : rows) {
      require(row->size() == length, "the rows of ", name, " differ in length");
      array.data.insert(array.data.end(), row->data(), row->data() + length);
    }
    out_.arrays.push_back(std::move(array));
  }

 private:
  store::Snapshot& out_;
  std::string prefix_;
};

void add_pairs(Records& out, const SpectrumRequest& request, const SpectrumResult& result) {
  const auto& [found, seconds] = result.pairs;
  const std::string status = linalg::to_string(found.status);
  const Eigen::Index count = found.eigenvalues.size();
  const auto end = [&](const char* name, bool asked, Eigen::Index i) {
    if (!asked || count == 0) {
      out.words(name, asked ? status : "not_asked");
      return;
    }
    const double value = found.eigenvalues[i], bound = result.bounds[i];
    out.interval(name, status, value, value - bound, value + bound);
  };
  using linalg::SpectrumEnd;
  end("lambda_1", request.lanczos.which != SpectrumEnd::kSmallest, 0);
  end("lambda_min_1", request.lanczos.which != SpectrumEnd::kLargest, count - 1);
  const Eigen::VectorXd none;
  out.table("eigenvalues",
            {&found.eigenvalues, &found.residuals, count > 0 ? &result.bounds : &none});
  for (const auto& name : result.names) {
    Eigen::VectorXd shares(static_cast<Eigen::Index>(result.shares.size()));
    for (std::size_t i = 0; i < result.shares.size(); ++i) {
      const auto& all = result.shares[i];
      const auto mine = std::find_if(
          all.begin(), all.end(), [&](const auto& each) { return each.first == name; });
      shares[static_cast<Eigen::Index>(i)] = mine == all.end() ? 0 : mine->second;
    }
    out.table("share", {&shares}, name);
  }
  out.words("status", status);
  out.number("checkpoint", static_cast<double>(result.checkpoint));
  out.number("rows", static_cast<double>(result.rows));
  out.number("parameters", static_cast<double>(result.parameters));
  out.number("top", request.lanczos.top);
  out.number("tolerance", request.lanczos.tolerance);
  out.number("products", found.products);
  out.number("seconds", seconds);
  out.number("learning_rate",
             result.learning_rate,
             std::isfinite(result.learning_rate) ? "ok" : "not_recorded");
  out.number("product_noise", result.product_noise);
  out.words("product_type", result.type);
  out.words("product_kind", result.product_kind);
  out.words("product_reason", result.product_reason);
}

void add_density(Records& out, const Timed<linalg::Density>& part, int64_t rows) {
  const auto& [density, seconds] = part;
  const std::string status = linalg::to_string(density.status);
  out.words("density_status", status);
  out.table("density",
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
  out.table("outliers", {&values, &bounds});
  for (const auto& [name, share] : {std::pair{"negative_mass", &density.negative_mass},
                                    std::pair{"near_zero_mass", &density.near_zero_mass}})
    out.interval(name, status, share->value, share->lower, share->upper);
  out.number("bulk_low", density.bulk_low, status);
  out.number("bulk_high", density.bulk_high, status);
  out.number("outlier_count", density.outlier_count, status);
  out.number("outlier_count_stderr", density.outlier_count_stderr, status);
  out.number("density_rows", static_cast<double>(rows));
  out.number("density_products", density.products);
  out.number("density_seconds", seconds);
}

void add_trace(Records& out, const Timed<linalg::TraceEstimate>& part, int64_t rows) {
  const auto& [trace, seconds] = part;
  out.interval("trace", linalg::to_string(trace.status), trace.value, trace.lower, trace.upper);
  out.number("trace_stderr", trace.standard_error);
  out.number("trace_rows", static_cast<double>(rows));
  out.number("trace_products", trace.products);
  out.number("trace_seconds", seconds);
}

void add_batches(Records& out,
                 const Timed<curvature::SampledEigenvalues>& part,
                 const SpectrumRequest& request) {
  const auto& [sampled, seconds] = part;
  out.words("batches_status", linalg::to_string(sampled.status));
  std::vector<const Eigen::VectorXd*> rows;
  for (const auto* means : {&sampled.batch, &sampled.bias, &sampled.corrected}) {
    for (const auto* row : {&means->value, &means->lower, &means->upper}) rows.push_back(row);
  }
  Eigen::VectorXd overlap;
  if (sampled.overlap.size() > 0) overlap = sampled.overlap.colwise().mean();
  rows.push_back(&overlap);
  out.table("batches", rows);
  const bool from_above = request.lanczos.which != linalg::SpectrumEnd::kSmallest;
  const auto found = static_cast<double>(sampled.values.cols());
  out.number("batches_from_largest", from_above ? std::min<double>(request.lanczos.top, found) : 0);
  out.number("batches_count", request.batches);
  out.number("batches_rows", static_cast<double>(request.rows));
  out.number("batches_products", sampled.products);
  out.number("batches_passes", sampled.passes);
  out.number("batches_seconds", seconds);
}

void add_leading(Records& out, const Timed<curvature::LeadingEigenvalue>& part, double asked) {
  const auto& [leading, seconds] = part;
  out.interval(
      "leading", curvature::to_string(leading.status), leading.value, leading.lower, leading.upper);
  out.number("leading_asked", asked);
  out.number("leading_batch_rows", static_cast<double>(leading.batch_rows));
  out.number("leading_fresh_rows", static_cast<double>(leading.fresh_rows));
  out.number("leading_products", leading.products);
  out.number("leading_passes", leading.passes);
  out.number("leading_seconds", seconds);
}

}  // namespace

store::Snapshot to_snapshot(const SpectrumRequest& request, const SpectrumResult& result) {
  store::Snapshot out;
  // The store numbers steps from 0 and the checkpoint counts those taken.
  out.step = std::max<int64_t>(result.checkpoint - 1, 0);
  Records records(out, "spectrum/" + request.kind + "/" + request.block + "/");
  add_pairs(records, request, result);
  if (result.density) add_density(records, *result.density, result.rows);
  if (result.trace) add_trace(records, *result.trace, result.rows);
  if (result.batches) add_batches(records, *result.batches, request);
  if (result.leading) add_leading(records, *result.leading, request.interval);
  out.events.push_back({"spectrum",
                        fmt::format("{} of {} after step {} on {} rows: {} in {} products",
                                    request.kind,
                                    request.block,
                                    result.checkpoint,
                                    result.rows,
                                    linalg::to_string(result.pairs.value.status),
                                    result.pairs.value.products)});
  return out;
}

}  // namespace kappascope::cli
