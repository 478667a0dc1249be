// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <torch/types.h>

#include <memory>
#include <utility>

#include "cli/progress.h"
#include "core/time.h"
#include "kappascope/core/error.h"
#include "lab/cli/spectrum/operators.h"
#include "lab/cli/spectrum/spectrum.h"

namespace kappascope::cli {
namespace {

/// Shows on a progress line how many products were taken.
std::unique_ptr<curvature::CurvatureOperator> counted(const curvature::CurvatureOperator& op,
                                                      ProgressLine& line,
                                                      const char* what,
                                                      int expected) {
  return curvature::watched(op, [&line, what, expected, start = monotonic_seconds()](int products) {
    line.show(fmt::format("{}: {} products (at most {}), {}",
                          what,
                          products,
                          expected,
                          format_seconds(monotonic_seconds() - start)));
  });
}

template <typename Body>
auto timed(const Body& body) {
  const double start = monotonic_seconds();
  auto value = body();
  return Timed<decltype(value)>{std::move(value), monotonic_seconds() - start};
}

std::string lanczos_text(const linalg::LanczosProgress& now, double goal) {
  return fmt::format("{} products, {} of {} pairs, largest residual {:.1e} (asked for {:.1e})",
                     now.products,
                     now.converged,
                     now.wanted,
                     now.residual,
                     goal);
}

}  // namespace

SpectrumResult measure_spectrum(const SpectrumRequest& request,
                                const train::Task& task,
                                const train::Checkpoint& checkpoint,
                                double rate) {
  if (!task.problem->is_mean_over_rows() &&
      (request.kind == "fisher" || request.kind == "covariance" || request.batches > 0 ||
       request.interval > 0)) {
    throw UsageError(
        "the loss of this model is no mean over rows (it has a root of a mean square), so rows "
        "have "
        "no gradients of their own and batches are no samples of it: use --operator hessian "
        "without "
        "--batches and --interval");
  }
  const auto parameters = curvature::select_parameters(task.model(), request.block);
  const auto batch = first_rows(task, request.rows);
  const int64_t all_rows = task.problem->rows(data::Split::kTrain);
  if (request.batches > 0 && request.rows > all_rows / request.batches) {
    throw UsageError(fmt::format(
        "--batches {} of --rows {} need {} rows, and the training set has {}; ask for fewer rows",
        request.batches,
        request.rows,
        request.batches * request.rows,
        all_rows));
  }
  train::load_model(checkpoint, task.model());
  ProgressLine line;
  SpectrumResult result;
  result.checkpoint = checkpoint.step;
  result.learning_rate = rate;
  const auto view = optimiser_view(request.kind, task, checkpoint, rate, parameters);
  const auto scale = view ? view->scale : at::Tensor();
  if (view) result.stability_limit = view->limit;
  result.rows = batch.size(0);
  for (const auto& [name, tensor] : parameters) result.names.push_back(name);
  {
    const auto op = make_operator(request.kind, task, batch, parameters, scale);
    result.parameters = op->size();
    result.product_noise = op->product_noise();
    result.product_kind = curvature::to_string(op->product_kind());
    result.product_reason = op->product_reason();
    result.type = std::string(op->vectors().dtype().name());
    auto lanczos = request.lanczos;
    lanczos.vectors = true;
    lanczos.progress = [&](const auto& now) { line.show(lanczos_text(now, lanczos.tolerance)); };
    auto pairs = timed([&] { return curvature::eigenpairs(*op, lanczos); });
    result.bounds = pairs.value.found.bounds();
    result.shares = all_shares(pairs.value, parameters);
    line.show(fmt::format("{} products", pairs.value.found.products), true);
    if (request.density) {
      const linalg::DensityOptions options;
      const auto shown = counted(*op, line, "density", options.steps * options.starts);
      result.density =
          timed([&] { return curvature::spectral_density(*shown, options, pairs.value); });
    }
    result.pairs = {std::move(pairs.value.found), pairs.seconds};
    if (request.trace) {
      const linalg::TraceOptions options;
      const auto shown = counted(*op, line, "trace", options.max_products);
      result.trace = timed([&] { return curvature::trace(*shown, options); });
    }
  }
  // One graph lives at a time: that of the batch is gone by now.
  int problems = 0;
  int64_t seen = 0;
  bool look = false;
  const curvature::RowsOperator rows_operator = [&](const at::Tensor& rows) {
    ++problems;
    seen += rows.numel();
    if (look) line.show(fmt::format("interval: {} rows seen", seen));
    return make_operator(request.kind, task, rows, parameters, scale);
  };
  if (request.batches > 0) {
    curvature::BatchesOptions options{.batches = request.batches, .rows = request.rows};
    options.lanczos = request.lanczos;
    // Each pair of batches has a third problem, that of their union.
    options.lanczos.progress = [&, all = request.batches / 2 * 3](const auto& now) {
      line.show(fmt::format("batches: problem {} of {}, {}",
                            problems,
                            all,
                            lanczos_text(now, request.lanczos.tolerance)));
    };
    result.batches =
        timed([&] { return curvature::sampled_eigenvalues(rows_operator, all_rows, options); });
    line.show(fmt::format("batches: {} products", result.batches->value.products), true);
  }
  if (request.interval > 0) {
    seen = 0;
    look = true;
    curvature::TopEigenvalueOptions options{.relative_half_width = request.interval};
    options.lanczos.progress = [&](const auto& now) {
      line.show("interval: a direction, " + lanczos_text(now, options.lanczos.tolerance));
    };
    result.top_eigenvalue =
        timed([&] { return curvature::top_eigenvalue(rows_operator, all_rows, options); });
    line.show(fmt::format("interval: {} products", result.top_eigenvalue->value.products), true);
  }
  return result;
}

}  // namespace kappascope::cli
