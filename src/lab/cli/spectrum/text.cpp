// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/say.h"
#include "core/printable.h"
#include "lab/cli/spectrum/operators.h"
#include "lab/cli/spectrum/spectrum.h"

namespace kappascope::cli {
namespace {

void print_pairs(const SpectrumRequest& request, const SpectrumResult& result) {
  const auto& found = result.pairs.value;
  say("{} of {} parameters ({}) after {} steps, {} rows: {} in {} products\n",
      request.kind,
      result.parameters,
      request.block,
      result.checkpoint,
      result.rows,
      linalg::to_string(found.status),
      found.products);
  for (Eigen::Index i = 0; i < found.eigenvalues.size(); ++i) {
    say("  {:>14.6g}  +- {:.1e} {} {}\n",
        found.eigenvalues[i],
        result.bounds[i],
        found.certified(i) ? ' ' : '?',
        text(result.shares[static_cast<std::size_t>(i)]));
  }
  print_certificate(result);
  const bool has_top =
      found.eigenvalues.size() > 0 && request.lanczos.which != linalg::SpectrumEnd::kSmallest;
  if (!has_top) return;
  if (std::isfinite(result.stability_limit)) {
    say("The sharpest is {:.3g} of {:.4g}, the stability limit of the run's optimiser at learning "
        "rate {:.3g}.\n",
        found.eigenvalues[0] / result.stability_limit,
        result.stability_limit,
        result.learning_rate);
  } else if (std::isfinite(result.learning_rate) && bounds_the_step(request.kind)) {
    say("The sharpest is {:.3g} of 2 / learning rate = {:.4g}, beyond which plain gradient descent "
        "is unstable.\n",
        found.eigenvalues[0] * result.learning_rate / 2,
        2 / result.learning_rate);
  }
}

void print_batches(const SpectrumRequest& request, const curvature::SampledEigenvalues& sampled) {
  say("{} independent batches of {} rows: {} in {} products, {:.2g} passes\n",
      request.batches,
      request.rows,
      linalg::to_string(sampled.status),
      sampled.products,
      sampled.passes);
  if (sampled.values.size() == 0) {
    say("No values: a batch had none, or fewer than another.\n");
    return;
  }
  say("  {:>12} {:>25}  {:>12}  {:>12} {:>25}  {}\n",
      "mean",
      "95 % interval",
      "bias",
      "without it",
      "95 % interval",
      "|cos| of a pair");
  for (Eigen::Index i = 0; i < sampled.values.cols(); ++i) {
    say("  {:>12.5g} {:>12.5g}{:>13.5g}  {:>12.3g}  {:>12.5g} {:>12.5g}{:>13.5g}  {:.2f}\n",
        sampled.batch.value[i],
        sampled.batch.lower[i],
        sampled.batch.upper[i],
        sampled.bias.value[i],
        sampled.corrected.value[i],
        sampled.corrected.lower[i],
        sampled.corrected.upper[i],
        sampled.overlap.col(i).mean());
  }
  say("A batch sees the largest eigenvalue too large and the smallest too small; the bias is that "
      "of a batch against the distribution of the data.\n");
  if (sampled.certified) return;
  say("Not every value of every batch is certified to be that of its rank; ask with --certify.\n");
}

void print_top_eigenvalue(double asked, const curvature::TopEigenvalue& top) {
  using curvature::SamplingStatus;
  if (top.status == SamplingStatus::kNonFinite) {
    say("No interval: a product was not finite.\n");
    return;
  }
  say("lambda_1 over the distribution of the data: {:.5g}, 95 %: {:.5g} to {:.5g} (+- {:.2g} %), "
      "from {} + {} rows in {} products, {:.2g} passes\n",
      top.value,
      top.lower,
      top.upper,
      50 * (top.upper - top.lower) / std::abs(top.value),
      top.batch_rows,
      top.fresh_rows,
      top.products,
      top.passes);
  if (top.status == SamplingStatus::kReached) return;
  say("Not as narrow as the +- {:.2g} % asked for: {} ended first.\n",
      100 * asked,
      top.status == SamplingStatus::kDataEnded ? "the data" : "the budget of passes over the data");
}

}  // namespace

void print_text(const SpectrumRequest& request, const SpectrumResult& result) {
  print_pairs(request, result);
  if (result.batches) print_batches(request, result.batches->value);
  if (result.top_eigenvalue) print_top_eigenvalue(request.interval, result.top_eigenvalue->value);
  if (result.trace) {
    const auto& trace = result.trace->value;
    say("trace {:.6g} +- {:.2g} (standard error), {} in {} products\n",
        trace.value,
        trace.standard_error,
        linalg::to_string(trace.status),
        trace.products);
  }
  if (result.density) say("{}", Lines{density_text(result.density->value, request.density_out)});
}

}  // namespace kappascope::cli
