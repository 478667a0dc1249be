// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/spectrum/certificate.h"
#include "cli/spectrum/operators.h"
#include "cli/spectrum/print.h"

namespace kappascope::cli {
namespace {

void print_pairs(const SpectrumRequest& request, const SpectrumResult& result) {
  const auto& found = result.pairs.value;
  fmt::print("{} of {} parameters ({}) after step {}, {} rows: {} in {} products\n",
             request.kind,
             result.parameters,
             request.block,
             result.checkpoint,
             result.rows,
             linalg::to_string(found.status),
             found.products);
  for (Eigen::Index i = 0; i < found.eigenvalues.size(); ++i) {
    fmt::print("  {:>14.6g}  +- {:.1e}   {}\n",
               found.eigenvalues[i],
               result.bounds[i],
               text(result.shares[static_cast<std::size_t>(i)]));
  }
  print_certificate(result, request.lanczos.tolerance);
  const bool has_top =
      found.eigenvalues.size() > 0 && request.lanczos.which != linalg::SpectrumEnd::kSmallest;
  if (std::isfinite(result.learning_rate) && has_top && bounds_the_step(request.kind)) {
    fmt::print(
        "The sharpest is {:.3g} of 2 / learning rate = {:.4g}, beyond which plain gradient descent "
        "is unstable.\n",
        found.eigenvalues[0] * result.learning_rate / 2,
        2 / result.learning_rate);
  }
}

void print_batches(const SpectrumRequest& request, const curvature::SampledEigenvalues& sampled) {
  fmt::print("{} independent batches of {} rows: {} in {} products, {:.2g} passes\n",
             request.batches,
             request.rows,
             linalg::to_string(sampled.status),
             sampled.products,
             sampled.passes);
  if (sampled.values.size() == 0) {
    fmt::print("No values: a batch had none, or fewer than another.\n");
    return;
  }
  fmt::print("  {:>12} {:>25}  {:>12}  {:>12} {:>25}  {}\n",
             "mean",
             "95 % interval",
             "bias",
             "without it",
             "95 % interval",
             "|cos| of a pair");
  for (Eigen::Index i = 0; i < sampled.values.cols(); ++i) {
    fmt::print("  {:>12.5g} {:>12.5g}{:>13.5g}  {:>12.3g}  {:>12.5g} {:>12.5g}{:>13.5g}  {:.2f}\n",
               sampled.batch.value[i],
               sampled.batch.lower[i],
               sampled.batch.upper[i],
               sampled.bias.value[i],
               sampled.corrected.value[i],
               sampled.corrected.lower[i],
               sampled.corrected.upper[i],
               sampled.overlap.col(i).mean());
  }
  fmt::print(
      "A batch sees the largest eigenvalue too large and the smallest too small; the bias is that "
      "of a batch against the distribution of the data.\n");
}

void print_leading(double asked, const curvature::LeadingEigenvalue& leading) {
  using curvature::SamplingStatus;
  if (leading.status == SamplingStatus::kNonFinite) {
    fmt::print("No interval: a product was not finite.\n");
    return;
  }
  fmt::print(
      "lambda_1 over the distribution of the data: {:.5g}, 95 %: {:.5g} to {:.5g} (+- {:.2g} %), "
      "from {} + {} rows in {} products, {:.2g} passes\n",
      leading.value,
      leading.lower,
      leading.upper,
      50 * (leading.upper - leading.lower) / std::abs(leading.value),
      leading.batch_rows,
      leading.fresh_rows,
      leading.products,
      leading.passes);
  if (leading.status == SamplingStatus::kReached) return;
  fmt::print("Not as narrow as the +- {:.2g} % asked for: {} ended first.\n",
             100 * asked,
             leading.status == SamplingStatus::kDataEnded ? "the data"
                                                          : "the budget of passes over the data");
}

void print_density(const linalg::Density& density) {
  if (density.status != linalg::KrylovStatus::kConverged) {
    fmt::print("No density: a product was not finite.\n");
    return;
  }
  const auto& negative = density.negative_mass;
  const auto& zero = density.near_zero_mass;
  fmt::print(
      "{:.3g} of the spectrum is negative ({:.3g} to {:.3g}), {:.3g} within 1e-3 of the largest "
      "magnitude of zero ({:.3g} to {:.3g})\n",
      negative.value,
      negative.lower,
      negative.upper,
      zero.value,
      zero.lower,
      zero.upper);
  fmt::print("bulk from {:.4g} to {:.4g}; outside it {:.3g} +- {:.2g} eigenvalues (standard error)",
             density.bulk_low,
             density.bulk_high,
             density.outlier_count,
             density.outlier_count_stderr);
  for (std::size_t i = 0; i < density.outliers.size(); ++i) {
    fmt::print("{}{:.5g} +- {:.1e}",
               i == 0 ? ", of which resolved: " : ", ",
               density.outliers[i].value,
               density.outliers[i].bound);
  }
  fmt::print("\ngrid, density, lower, upper, cumulative, lower, upper:\n");
  for (Eigen::Index i = 0; i < density.grid.size(); ++i) {
    fmt::print("{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g}\n",
               density.grid[i],
               density.density[i],
               density.lower[i],
               density.upper[i],
               density.cumulative[i],
               density.cumulative_lower[i],
               density.cumulative_upper[i]);
  }
}

}  // namespace

void print_text(const SpectrumRequest& request, const SpectrumResult& result) {
  print_pairs(request, result);
  if (result.batches) print_batches(request, result.batches->value);
  if (result.leading) print_leading(request.interval, result.leading->value);
  if (result.trace) {
    const auto& trace = result.trace->value;
    fmt::print("trace {:.6g} +- {:.2g} (standard error), {} in {} products\n",
               trace.value,
               trace.standard_error,
               linalg::to_string(trace.status),
               trace.products);
  }
  if (result.density) print_density(result.density->value);
}

}  // namespace kappascope::cli
