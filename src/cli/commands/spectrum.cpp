// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/curvature_task.h"
#include "cli/progress.h"
#include "cli/settings.h"
#include "kappascope/core/error.h"
#include "kappascope/core/time.h"
#include "kappascope/linalg/density.h"
#include "kappascope/train/checkpoint.h"

namespace kappascope::cli {
namespace {

namespace fs = std::filesystem;

std::vector<double> numbers(const Eigen::VectorXd& v) {
  return {v.data(), v.data() + v.size()};
}

// Counts products on a progress line.
linalg::SymmetricOperator counted(linalg::SymmetricOperator op, ProgressLine& line, int expected) {
  auto count = std::make_shared<int>(0);
  const double start = monotonic_seconds();
  op.apply = [inner = op.apply, count, &line, expected, start](const Eigen::VectorXd& x,
                                                               Eigen::VectorXd& y) {
    inner(x, y);
    ++*count;
    line.show(fmt::format("{} products (at most {}), {}",
                          *count,
                          expected,
                          format_seconds(monotonic_seconds() - start)));
  };
  return op;
}

}  // namespace

int run_spectrum(const Arguments& arguments) {
  std::string run, block, kind, data;
  int64_t step = -1, rows = 1024;
  linalg::LanczosOptions lanczos;
  linalg::DensityOptions density;
  Usage usage;
  usage.synopsis =
      "kappascope spectrum RUN [--step N] [--block PATTERN] [--operator hessian|ggn] [--top K]";
  usage.text =
      "Eigenvalues of the loss's curvature at a checkpoint of RUN, each with its residual (an "
      "eigenvalue\n"
      "lies within that distance). Dropout is inactive; the batch is the first --rows training "
      "images.\n\n"
      "example: kappascope spectrum runs/pgb --block 'blocks.*.down.weight' --top 3 --density "
      "--trace";
  usage.options.add_options()("help,h", "this text")("run", po::value(&run)->required(), "the run")(
      "step", po::value(&step), "checkpoint after this many steps (default: the newest)")(
      "block", po::value(&block)->default_value("*"), "glob of parameter names")(
      "operator", po::value(&kind)->default_value("hessian"), "hessian, or ggn (Gauss-Newton)")(
      "top", po::value(&lanczos.top)->default_value(lanczos.top), "eigenvalues at each end")(
      "tolerance",
      po::value(&lanczos.tolerance)->default_value(lanczos.tolerance),
      "residual / largest magnitude")(
      "max-products",
      po::value(&lanczos.max_products)->default_value(lanczos.max_products),
      "budget of products")("rows", po::value(&rows)->default_value(rows), "training images")(
      "data", po::value(&data), "folder of the data, when it has moved")(
      "density", po::bool_switch(), "spectral density: nodes and weights")(
      "trace", po::bool_switch(), "trace with its standard error")(
      "json", po::bool_switch(), "print JSON");
  usage.positional = "run";
  usage.positional_count = 1;
  po::variables_map values;
  if (!parse(arguments, usage, values)) return 0;
  if (kind != "hessian" && kind != "ggn")
    throw UsageError("--operator must be hessian or ggn, got '" + kind + "'");
  if (lanczos.top < 1) throw UsageError("--top must be at least 1");

  auto settings = from_ini(store::RunReader(run).fact("config"));
  if (!data.empty()) settings.train.data = data;
  auto task = train::make_task(settings.train);
  const auto file = train::find_checkpoint(run, step < 0 ? std::nullopt : std::optional(step));
  require(file.has_value(),
          run,
          step < 0 ? " holds no checkpoint"
                   : " holds no checkpoint of that step; see " +
                         (fs::path(run) / "checkpoints").string());
  step = train::load_model(*file, *task.model);

  const auto parameters = curvature::select_parameters(*task.model, block);
  const auto loss_kind = settings.train.loss == "squared" ? curvature::OutputLoss::kSquared
                                                          : curvature::OutputLoss::kCrossEntropy;
  const auto op = kind == "hessian" ? curvature::hessian(curvature_loss(task, rows), parameters)
                                    : curvature::gauss_newton(
                                          curvature_outputs(task, rows), loss_kind, parameters);
  ProgressLine line;
  const bool json = values["json"].as<bool>();
  const bool want_density = values["density"].as<bool>(), want_trace = values["trace"].as<bool>();
  const auto found =
      linalg::lanczos(counted(curvature::as_linear(*op), line, lanczos.max_products), lanczos);
  linalg::Density spectrum;
  if (want_density || want_trace) {
    spectrum = linalg::spectral_density(
        counted(curvature::as_linear(*op), line, density.steps * density.probes), density);
  }
  nlohmann::json out = {{"run", run},
                        {"step", step},
                        {"operator", kind},
                        {"block", block},
                        {"parameters", op->size()},
                        {"rows", std::min(rows, task.train_set.size())},
                        {"status", linalg::to_string(found.status)},
                        {"products", found.products},
                        {"eigenvalues", numbers(found.eigenvalues)},
                        {"residuals", numbers(found.residuals)}};
  if (want_trace)
    out["trace"] = {{"value", spectrum.trace}, {"standard_error", spectrum.trace_stderr}};
  if (want_density) {
    out["density"] = {{"grid", numbers(spectrum.grid)},
                      {"density", numbers(spectrum.density)},
                      {"lower", numbers(spectrum.lower)},
                      {"upper", numbers(spectrum.upper)},
                      {"negative_mass", spectrum.negative_mass},
                      {"near_zero_mass", spectrum.near_zero_mass}};
  }
  line.show(fmt::format("{} products", found.products), true);
  if (json) {
    fmt::print("{}\n", out.dump());
    return 0;
  }
  fmt::print("{} of {} parameters ({}) after step {}, {} images: {} in {} products\n",
             kind,
             op->size(),
             block,
             step,
             std::min(rows, task.train_set.size()),
             linalg::to_string(found.status),
             found.products);
  for (Eigen::Index i = 0; i < found.eigenvalues.size(); ++i) {
    fmt::print("  {:>14.6g}  +- {:.1e}\n", found.eigenvalues[i], found.residuals[i]);
  }
  if (want_trace)
    fmt::print("trace {:.6g} +- {:.2g} (standard error)\n", spectrum.trace, spectrum.trace_stderr);
  if (want_density) {
    fmt::print(
        "{:.3g} of the spectrum is negative, {:.3g} within 1e-3 of the largest magnitude of zero\n"
        "grid, density, lower, upper:\n",
        spectrum.negative_mass,
        spectrum.near_zero_mass);
    for (Eigen::Index i = 0; i < spectrum.grid.size(); ++i) {
      fmt::print("{:.6g},{:.6g},{:.6g},{:.6g}\n",
                 spectrum.grid[i],
                 spectrum.density[i],
                 spectrum.lower[i],
                 spectrum.upper[i]);
    }
  }
  return 0;
}

}  // namespace kappascope::cli
