// SPDX-License-Identifier: Apache-2.0
// The operators torch.ops.kappascope.*: a value with its graph goes in, built in Python or
// anywhere, and numbers come out; feature_ops.cpp has the one of features. Python's side of them is
// kappascope/_library.py.
#include <torch/library.h>
#include <torch/types.h>

#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/version.h"
#include "kappascope/curvature/critical_step.h"
#include "kappascope/curvature/spectrum.h"
#include "python/ask.h"
#include "python/evaluate.h"
#include "tensor/convert.h"

namespace kappascope {
namespace {

at::Tensor number(double x) {
  return torch::scalar_tensor(x, torch::kDouble);
}

/// An operator's result, with what its products were.
Result result_of(const Numbers& numbers,
                 linalg::KrylovStatus status,
                 int products,
                 const curvature::CurvatureOperator& op) {
  return {
      numbers, linalg::to_string(status), products, curvature::to_string(op.product_kind()), ""};
}

Result spectrum(const std::optional<at::Tensor>& value,
                int64_t source,
                at::IntArrayRef rows,
                at::TensorList parameters,
                const std::vector<std::string>& names,
                const std::string& kind,
                const std::string& output_loss,
                const std::string& product,
                int64_t watcher,
                const std::string& group,
                bool sharded,
                int64_t top,
                const std::string& which,
                double tolerance,
                int64_t max_products,
                int64_t max_basis,
                bool find_repeated,
                bool certify,
                bool vectors,
                int64_t seed,
                const std::optional<at::Tensor>& start,
                const std::optional<at::Tensor>& scale) {
  linalg::LanczosOptions options;
  options.top = checked_int(top, "top");
  options.which = linalg::parse_spectrum_end(which, "which");
  options.tolerance = tolerance;
  options.max_products = checked_int(max_products, "max_products");
  options.max_basis = checked_int(max_basis, "max_basis");
  options.find_repeated = find_repeated;
  options.certify = certify;
  options.vectors = vectors;
  options.seed = static_cast<std::uint64_t>(seed);
  return ask(
      {value, source, rows, parameters, names, kind, output_loss, product, watcher, group, sharded},
      [&](const curvature::CurvatureOperator& op) {
        linalg::LanczosProgress seen;
        int products = 0;
        options.progress = [&](const linalg::LanczosProgress& progress) { seen = progress; };
        options.stop = [&] { return !report_progress(watcher, op.shared_with(), products, seen); };
        const auto counted = curvature::watched(op, [&](int count) { products = count; });
        const auto scaled = scale ? curvature::scaled(*counted, *scale) : nullptr;
        const auto pairs = curvature::eigenpairs(
            scaled ? *scaled : *counted, options, start.value_or(at::Tensor()));
        const auto& found = pairs.found;
        Numbers out;
        out.insert("eigenvalues", tensor::from_vector(found.eigenvalues));
        out.insert("residuals", tensor::from_vector(found.residuals));
        out.insert("bounds", tensor::from_vector(found.bounds()));
        out.insert("reach", tensor::from_vector(found.reach));
        out.insert("tolerances", tensor::from_vector(found.tolerances));
        out.insert("product_noise", number(found.product_noise));
        out.insert("room_for_vectors", number(found.room_for_vectors));
        out.insert("packed_vectors", number(found.packed_vectors ? 1 : 0));
        out.insert("multiplicity_checked", number(found.multiplicity_checked ? 1 : 0));
        if (const auto& other = found.other_end)
          out.insert("other_end",
                     tensor::from_vector(Eigen::Vector2d(other->value, other->residual)));
        if (pairs.vectors.defined()) out.insert("eigenvectors", pairs.vectors);
        const int scaling = scaled ? curvature::kScalingProducts : 0;
        auto result = result_of(out, found.status, found.products + scaling, op);
        auto& [numbers, status, count, kind_of_product, certificate] = result;
        certificate = linalg::certificate(found,
                                          {.max_products = "max_products",
                                           .tolerance = "tol",
                                           .both_ends = "which=\"both\"",
                                           .find_repeated = "find_repeated=True",
                                           .certify = "certify=True"});
        if (found.stopped) status = "interrupted";
        return result;
      });
}

Result density(const std::optional<at::Tensor>& value,
               int64_t source,
               at::IntArrayRef rows,
               at::TensorList parameters,
               const std::vector<std::string>& names,
               const std::string& kind,
               const std::string& output_loss,
               const std::string& product,
               int64_t watcher,
               const std::string& group,
               bool sharded,
               int64_t steps,
               int64_t starts,
               int64_t points,
               double bandwidth,
               int64_t max_vectors,
               int64_t seed) {
  linalg::DensityOptions options;
  options.steps = checked_int(steps, "steps");
  options.starts = checked_int(starts, "starts");
  options.points = checked_int(points, "points");
  options.bandwidth = bandwidth;
  options.max_vectors = checked_int(max_vectors, "max_vectors");
  options.seed = static_cast<std::uint64_t>(seed);
  return ask(
      {value, source, rows, parameters, names, kind, output_loss, product, watcher, group, sharded},
      [&](const curvature::CurvatureOperator& op) {
        const auto found = curvature::spectral_density(*watched(op, watcher), options);
        Numbers out;
        out.insert("grid", tensor::from_vector(found.grid));
        out.insert("density", tensor::from_vector(found.density));
        out.insert("lower", tensor::from_vector(found.lower));
        out.insert("upper", tensor::from_vector(found.upper));
        out.insert("nodes", tensor::from_vector(found.nodes));
        out.insert("weights", tensor::from_vector(found.weights));
        out.insert("cumulative", tensor::from_vector(found.cumulative));
        out.insert("cumulative_lower", tensor::from_vector(found.cumulative_lower));
        out.insert("cumulative_upper", tensor::from_vector(found.cumulative_upper));
        const auto outliers = torch::empty({std::ssize(found.outliers), 2}, torch::kDouble);
        for (int64_t i = 0; i < outliers.size(0); ++i) {
          const auto& outlier = found.outliers[static_cast<std::size_t>(i)];
          outliers[i][0] = outlier.value;
          outliers[i][1] = outlier.bound;
        }
        out.insert("outliers", outliers);
        out.insert("outlier_count", number(found.outlier_count));
        out.insert("outlier_count_stderr", number(found.outlier_count_stderr));
        const auto share = [&](const std::string& name, const linalg::Share& mass) {
          out.insert(name, number(mass.value));
          out.insert(name + "_lower", number(mass.lower));
          out.insert(name + "_upper", number(mass.upper));
        };
        share("negative_mass", found.negative_mass);
        share("near_zero_mass", found.near_zero_mass);
        out.insert("trace", number(found.trace));
        out.insert("trace_stderr", number(found.trace_stderr));
        out.insert("trace_lower", number(found.trace_lower));
        out.insert("trace_upper", number(found.trace_upper));
        return result_of(out, found.status, found.products, op);
      });
}

Result trace(const std::optional<at::Tensor>& value,
             int64_t source,
             at::IntArrayRef rows,
             at::TensorList parameters,
             const std::vector<std::string>& names,
             const std::string& kind,
             const std::string& output_loss,
             const std::string& product,
             int64_t watcher,
             const std::string& group,
             bool sharded,
             double relative_error,
             int64_t max_products,
             int64_t sketch,
             int64_t max_vectors,
             int64_t seed) {
  linalg::TraceOptions options;
  options.relative_error = relative_error;
  options.max_products = checked_int(max_products, "max_products");
  options.sketch = checked_int(sketch, "sketch");
  options.max_vectors = checked_int(max_vectors, "max_vectors");
  options.seed = static_cast<std::uint64_t>(seed);
  return ask(
      {value, source, rows, parameters, names, kind, output_loss, product, watcher, group, sharded},
      [&](const curvature::CurvatureOperator& op) {
        const auto found = curvature::trace(*watched(op, watcher), options);
        Numbers out;
        out.insert("value", number(found.value));
        out.insert("standard_error", number(found.standard_error));
        out.insert("lower", number(found.lower));
        out.insert("upper", number(found.upper));
        out.insert("vectors", number(found.vectors));
        return result_of(out, found.status, found.products, op);
      });
}

/// Value, bounds, status, points [m, 2], evaluations.
std::tuple<double, double, double, std::string, at::Tensor, int64_t> critical_step(
    int64_t source,
    at::IntArrayRef rows,
    at::TensorList parameters,
    const std::vector<std::string>& names,
    const std::vector<at::Tensor>& before,
    double tolerance,
    int64_t max_evaluations,
    const std::string& group) {
  curvature::NamedParameters named;
  for (std::size_t i = 0; i < names.size(); ++i) named.emplace_back(names[i], parameters[i]);
  const auto all = static_cast<double>(std::accumulate(rows.begin(), rows.end(), int64_t{0}));
  const auto loss = [&] {
    if (rows.empty()) return evaluate(source);
    auto sum = torch::zeros({}, torch::kDouble);
    for (std::size_t i = 0; i < rows.size(); ++i)
      sum += evaluate(source, static_cast<int64_t>(i)).detach().cpu() *
             (static_cast<double>(rows[i]) / all);
    return sum;
  };
  curvature::CriticalStepOptions options{
      .tolerance = tolerance, .max_evaluations = checked_int(max_evaluations, "max_evaluations")};
  const auto together = group.empty() ? nullptr : tensor::process_group(group);
  options.group = together.get();
  const auto found = curvature::critical_step(loss, named, before, options);
  const auto points = torch::empty({std::ssize(found.points), 2}, torch::kDouble);
  for (int64_t i = 0; i < points.size(0); ++i) {
    points[i][0] = found.points[static_cast<std::size_t>(i)].first;
    points[i][1] = found.points[static_cast<std::size_t>(i)].second;
  }
  return {found.value,
          found.lower,
          found.upper,
          curvature::to_string(found.status),
          points,
          found.evaluations};
}

}  // namespace
}  // namespace kappascope

TORCH_LIBRARY(kappascope, library) {
  // What the operators share: the loss, and what it is to be differentiated by.
  const auto define = [&library](
                          const std::string& name, const std::string& options, auto function) {
    const std::string schema =
        name +
        "(Tensor? value, int source, int[] rows, Tensor[] parameters, str[] names, str operator, "
        "str output_loss, str product, int watcher, str group, bool sharded, *, " +
        options +
        ") -> (Dict(str, Tensor) numbers, str status, int products, str product_kind, str "
        "certificate)";
    library.def(schema.c_str(), function);
  };
  // `watcher` is asked by `progress` after each product.
  define("spectrum",
         "int top, str which, float tolerance, int max_products, int max_basis, "
         "bool find_repeated, bool certify, bool vectors, int seed, Tensor? start, Tensor? scale",
         &kappascope::spectrum);
  define("density",
         "int steps, int starts, int points, float bandwidth, int max_vectors, int seed",
         &kappascope::density);
  define("trace",
         "float relative_error, int max_products, int sketch, int max_vectors, int seed",
         &kappascope::trace);
  library.def(
      "critical_step(int source, int[] rows, Tensor[] parameters, str[] names, Tensor[] before, "
      "float tolerance, int max_evaluations, str group) -> (float value, float lower, float upper, "
      "str status, Tensor points, int evaluations)",
      &kappascope::critical_step);
  library.def("evaluate(int source, int batch) -> Tensor");
  library.def("evaluate_on(int source, Tensor outputs) -> Tensor");
  library.def("parameters(int source) -> Tensor[]");
  library.def("shards(int source) -> Tensor[]");
  library.def("gradient(int source) -> (Tensor loss, Tensor gradient)");
  library.def(
      "progress(int watcher, int products, int converged, int wanted, float residual) -> bool");
  library.def("version() -> str", [] { return std::string(kappascope::version()); });
}
