// SPDX-License-Identifier: Apache-2.0
#include "kappascope/curvature/spectrum.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/commands/certificate.h"
#include "cli/curvature_task.h"
#include "cli/progress.h"
#include "cli/settings.h"
#include "kappascope/core/error.h"
#include "kappascope/core/time.h"
#include "kappascope/train/checkpoint.h"

namespace kappascope::cli {
namespace {

namespace fs = std::filesystem;

std::vector<double> numbers(const Eigen::VectorXd& v) {
  return {v.data(), v.data() + v.size()};
}

// Shows on a progress line how many products were taken.
class Counted final : public curvature::CurvatureOperator {
 public:
  Counted(const CurvatureOperator& op, ProgressLine& line, int expected)
      : op_(op), line_(line), expected_(expected) {}
  [[nodiscard]] int64_t size() const override { return op_.size(); }
  [[nodiscard]] at::TensorOptions vectors() const override { return op_.vectors(); }
  [[nodiscard]] double product_noise() const override { return op_.product_noise(); }
  [[nodiscard]] curvature::ProductKind product_kind() const override { return op_.product_kind(); }
  [[nodiscard]] std::string product_reason() const override { return op_.product_reason(); }
  [[nodiscard]] at::Tensor apply(const at::Tensor& v) const override {
    const auto product = op_.apply(v);
    line_.show(fmt::format("{} products (at most {}), {}",
                           ++count_,
                           expected_,
                           format_seconds(monotonic_seconds() - start_)));
    return product;
  }

 private:
  const CurvatureOperator& op_;
  ProgressLine& line_;
  int expected_;
  mutable int count_ = 0;
  double start_ = monotonic_seconds();
};

linalg::SpectrumEnd end_named(const std::string& name) {
  if (name == "largest") return linalg::SpectrumEnd::kLargest;
  if (name == "smallest") return linalg::SpectrumEnd::kSmallest;
  if (name != "both") {
    throw UsageError("--which must be both, largest or smallest, got '" + name + "'");
  }
  return linalg::SpectrumEnd::kBoth;
}

std::unique_ptr<curvature::CurvatureOperator> make_operator(
    const std::string& kind,
    train::Task& task,
    int64_t rows,
    const curvature::NamedParameters& parameters) {
  if (kind == "hessian") return curvature::hessian(curvature_loss(task, rows), parameters);
  if (kind == "fisher")
    return curvature::empirical_fisher(curvature_losses(task, rows), parameters);
  if (kind == "covariance")
    return curvature::gradient_covariance(curvature_losses(task, rows), parameters);
  if (kind != "ggn") {
    throw UsageError("--operator must be hessian, ggn, fisher or covariance, got '" + kind + "'");
  }
  const auto loss = task.config.loss == "squared" ? curvature::OutputLoss::kSquared
                                                  : curvature::OutputLoss::kCrossEntropy;
  return curvature::gauss_newton(curvature_outputs(task, rows), loss, parameters);
}

}  // namespace

int run_spectrum(const Arguments& arguments) {
  std::string run, block, kind, which, data;
  int64_t step = -1, rows = 1024;
  linalg::LanczosOptions lanczos;
  linalg::DensityOptions density;
  Usage usage;
  usage.synopsis =
      "kappascope spectrum RUN [--step N] [--block PATTERN] [--operator NAME] [--top K]";
  usage.text =
      "Eigenvalues of the loss's curvature at a checkpoint of RUN, each with its residual (an "
      "eigenvalue\n"
      "lies within that distance). Dropout is inactive; the batch is the first --rows training "
      "images.\n\n"
      "example: kappascope spectrum runs/pgb --block 'blocks.*.down_proj.weight' --top 3 --density "
      "--trace";
  usage.options.add_options()("help,h", "this text")("run", po::value(&run)->required(), "the run")(
      "step", po::value(&step), "checkpoint after this many steps (default: the newest)")(
      "block", po::value(&block)->default_value("*"), "glob of parameter names")(
      "operator",
      po::value(&kind)->default_value("hessian"),
      "hessian, ggn (Gauss-Newton), fisher (empirical), or covariance (of the rows' gradients)")(
      "top", po::value(&lanczos.top)->default_value(lanczos.top), "eigenvalues at each end")(
      "which",
      po::value(&which)->default_value("both"),
      "both ends, or the largest or smallest alone (by value)")(
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
  if (lanczos.top < 1) throw UsageError("--top must be at least 1");
  lanczos.which = end_named(which);

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
  const auto op = make_operator(kind, task, rows, parameters);
  ProgressLine line;
  const bool json = values["json"].as<bool>();
  const bool want_density = values["density"].as<bool>(), want_trace = values["trace"].as<bool>();
  lanczos.vectors = true;
  lanczos.progress = [&line, goal = lanczos.tolerance](const linalg::LanczosProgress& now) {
    line.show(fmt::format("{} products, {} of {} pairs, largest residual {:.1e} (asked for {:.1e})",
                          now.products,
                          now.converged,
                          now.wanted,
                          now.residual,
                          goal));
  };
  const auto pairs = curvature::eigenpairs(*op, lanczos);
  const auto& found = pairs.found;
  const Eigen::VectorXd bounds = found.bounds(op->product_noise());
  const auto shares = all_shares(pairs, parameters);
  const double rate = learning_rate_at(store::RunReader(run), step);
  linalg::Density spectrum;
  if (want_density) {
    spectrum =
        curvature::spectral_density(Counted(*op, line, density.steps * density.probes), density);
  }
  linalg::TraceEstimate trace;
  if (want_trace) {
    const linalg::TraceOptions options;
    trace = curvature::trace(Counted(*op, line, options.max_products), options);
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
                        {"residuals", numbers(found.residuals)},
                        {"bounds", numbers(bounds)},
                        {"product_noise", op->product_noise()},
                        {"product_kind", curvature::to_string(op->product_kind())}};
  for (const auto& each : shares) out["shares"].push_back(nlohmann::json(each));
  if (std::isfinite(rate)) out["learning_rate"] = rate;
  if (want_trace)
    out["trace"] = {{"value", trace.value},
                    {"standard_error", trace.standard_error},
                    {"status", linalg::to_string(trace.status)},
                    {"products", trace.products}};
  if (want_density) {
    out["density"] = {{"grid", numbers(spectrum.grid)},
                      {"density", numbers(spectrum.density)},
                      {"lower", numbers(spectrum.lower)},
                      {"upper", numbers(spectrum.upper)},
                      {"negative_mass", spectrum.negative_mass.value},
                      {"near_zero_mass", spectrum.near_zero_mass.value}};
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
    fmt::print("  {:>14.6g}  +- {:.1e}   {}\n",
               found.eigenvalues[i],
               bounds[i],
               text(shares[static_cast<std::size_t>(i)]));
  }
  print_certificate(*op, found, lanczos.tolerance);
  const bool has_top =
      found.eigenvalues.size() > 0 && lanczos.which != linalg::SpectrumEnd::kSmallest;
  if (std::isfinite(rate) && has_top) {
    fmt::print(
        "The sharpest is {:.3g} of 2 / learning rate = {:.4g}, beyond which plain gradient descent "
        "is unstable.\n",
        found.eigenvalues[0] * rate / 2,
        2 / rate);
  }
  if (want_trace)
    fmt::print("trace {:.6g} +- {:.2g} (standard error), {} in {} products\n",
               trace.value,
               trace.standard_error,
               linalg::to_string(trace.status),
               trace.products);
  if (want_density) {
    fmt::print(
        "{:.3g} of the spectrum is negative, {:.3g} within 1e-3 of the largest magnitude of zero\n"
        "grid, density, lower, upper:\n",
        spectrum.negative_mass.value,
        spectrum.near_zero_mass.value);
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
