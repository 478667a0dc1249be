// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <nlohmann/json.hpp>

#include "lab/cli/spectrum/spectrum.h"

namespace kappascope::cli {
namespace {

using nlohmann::json;

std::vector<double> numbers(const Eigen::VectorXd& v) {
  return {v.data(), v.data() + v.size()};
}

json share(const linalg::Share& share) {
  return {{"value", share.value}, {"lower", share.lower}, {"upper", share.upper}};
}

json certified(const linalg::ExtremeEigenvalues& found) {
  json each = json::array();
  for (Eigen::Index i = 0; i < found.eigenvalues.size(); ++i) each.push_back(found.certified(i));
  return each;
}

json means(const curvature::SampleMeans& means) {
  return {{"value", numbers(means.value)},
          {"lower", numbers(means.lower)},
          {"upper", numbers(means.upper)},
          {"standard_error", numbers(means.standard_error)}};
}

json other_end(const linalg::ExtremeEigenvalues& found) {
  if (!found.other_end) return nullptr;
  return {{"value", found.other_end->value},
          {"residual", found.other_end->residual},
          {"dominates", found.other_end_dominates()}};
}

json of(const Timed<linalg::Density>& part) {
  const auto& [density, seconds] = part;
  json outliers = json::array();
  for (const auto& each : density.outliers)
    outliers.push_back({{"value", each.value}, {"bound", each.bound}});
  return {{"status", linalg::to_string(density.status)},
          {"grid", numbers(density.grid)},
          {"density", numbers(density.density)},
          {"lower", numbers(density.lower)},
          {"upper", numbers(density.upper)},
          {"cumulative", numbers(density.cumulative)},
          {"cumulative_lower", numbers(density.cumulative_lower)},
          {"cumulative_upper", numbers(density.cumulative_upper)},
          {"negative_mass", density.negative_mass.value},
          {"negative_mass_interval", share(density.negative_mass)},
          {"near_zero_mass", density.near_zero_mass.value},
          {"near_zero_mass_interval", share(density.near_zero_mass)},
          {"bulk", {density.bulk_low, density.bulk_high}},
          {"outliers", outliers},
          {"outlier_count", density.outlier_count},
          {"outlier_count_standard_error", density.outlier_count_stderr},
          {"products", density.products},
          {"seconds", seconds}};
}

json of(const Timed<linalg::TraceEstimate>& part) {
  const auto& [trace, seconds] = part;
  return {{"value", trace.value},
          {"standard_error", trace.standard_error},
          {"lower", trace.lower},
          {"upper", trace.upper},
          {"status", linalg::to_string(trace.status)},
          {"products", trace.products},
          {"seconds", seconds}};
}

json of(const Timed<curvature::SampledEigenvalues>& part, const SpectrumRequest& request) {
  const auto& [sampled, seconds] = part;
  json values = json::array(), overlaps = json::array();
  for (Eigen::Index b = 0; b < sampled.values.rows(); ++b)
    values.push_back(numbers(sampled.values.row(b)));
  for (Eigen::Index p = 0; p < sampled.overlap.rows(); ++p)
    overlaps.push_back(numbers(sampled.overlap.row(p)));
  return {{"status", linalg::to_string(sampled.status)},
          {"certified", sampled.certified},
          {"batches", request.batches},
          {"rows_each", request.rows},
          {"values", values},
          {"mean", means(sampled.batch)},
          {"bias", means(sampled.bias)},
          {"corrected", means(sampled.corrected)},
          {"overlap", overlaps},
          {"products", sampled.products},
          {"passes", sampled.passes},
          {"seconds", seconds}};
}

json of(const Timed<curvature::TopEigenvalue>& part, const SpectrumRequest& request) {
  const auto& [top, seconds] = part;
  return {{"status", curvature::to_string(top.status)},
          {"asked", request.interval},
          {"value", top.value},
          {"lower", top.lower},
          {"upper", top.upper},
          {"quotient", top.quotient},
          {"standard_error", top.standard_error},
          {"deficit", top.deficit},
          {"batch_value", top.batch_value},
          {"eigenproblem", linalg::to_string(top.eigenproblem)},
          {"batch_rows", top.batch_rows},
          {"fresh_rows", top.fresh_rows},
          {"products", top.products},
          {"passes", top.passes},
          {"seconds", seconds}};
}

}  // namespace

json to_json(const SpectrumRequest& request, const SpectrumResult& result) {
  const auto& [found, seconds] = result.pairs;
  json out = {{"run", request.run},
              {"step", result.checkpoint},
              {"operator", request.kind},
              {"block", request.block},
              {"parameters", result.parameters},
              {"rows", result.rows},
              {"status", linalg::to_string(found.status)},
              {"tolerance", request.lanczos.tolerance},
              {"products", found.products},
              {"seconds", seconds},
              {"eigenvalues", numbers(found.eigenvalues)},
              {"residuals", numbers(found.residuals)},
              {"bounds", numbers(result.bounds)},
              {"reach", numbers(found.reach)},
              {"certified", certified(found)},
              {"which", to_string(found.which)},
              {"multiplicity_checked", found.multiplicity_checked},
              {"other_end", other_end(found)},
              {"product_noise", result.product_noise},
              {"product_kind", result.product_kind},
              {"product_reason", result.product_reason},
              {"product_type", result.type},
              {"shares", json::array()}};
  for (const auto& each : result.shares) out["shares"].push_back(json(each));
  if (std::isfinite(result.learning_rate)) out["learning_rate"] = result.learning_rate;
  if (std::isfinite(result.stability_limit)) out["stability_limit"] = result.stability_limit;
  if (result.trace) out["trace"] = of(*result.trace);
  if (result.density) out["density"] = of(*result.density);
  if (result.batches) out["batches"] = of(*result.batches, request);
  if (result.top_eigenvalue) out["leading"] = of(*result.top_eigenvalue, request);
  return out;
}

}  // namespace kappascope::cli
