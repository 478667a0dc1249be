// SPDX-License-Identifier: Apache-2.0
// The operators torch.ops.kappascope.*: a value with its graph goes in, built in Python or
// anywhere, and numbers come out. Python's side of them is kappascope/_library.py.
#include <torch/library.h>
#include <torch/torch.h>

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "kappascope/core/error.h"
#include "kappascope/core/version.h"
#include "kappascope/curvature/operators.h"
#include "kappascope/curvature/spectrum.h"
#include "kappascope/tensor/convert.h"

namespace kappascope {
namespace {

/// Numbers by the name of their field, all double and on the host but for eigenvectors; status;
/// products; which product ran.
using Numbers = c10::Dict<std::string, at::Tensor>;
using Result = std::tuple<Numbers, std::string, int64_t, std::string>;

constexpr const char* kProductKind = "graph kept";

at::Tensor number(double x) {
  return torch::scalar_tensor(x, torch::kDouble);
}

int checked_int(int64_t value, const char* name) {
  require(value >= std::numeric_limits<int>::min() && value <= std::numeric_limits<int>::max(),
          name,
          " is out of range: ",
          value);
  return static_cast<int>(value);
}

/// What every operator takes. `value` is a tensor with its graph: a scalar loss, outputs
/// [rows, classes], or losses [rows]; without it, Python's `source` is asked, batch by batch where
/// there are `rows`.
struct Given {
  std::optional<at::Tensor> value;
  int64_t source;
  at::IntArrayRef rows;  // of each batch; none: one evaluation without a batch
  at::TensorList parameters;
  const std::vector<std::string>& names;
  const std::string& kind;
  const std::string& output_loss;  // of kind "ggn"
};

at::Tensor evaluate(int64_t source, int64_t batch) {
  static const auto python = c10::Dispatcher::singleton()
                                 .findSchemaOrThrow("kappascope::evaluate", "")
                                 .typed<at::Tensor(int64_t, int64_t)>();
  return python.call(source, batch);
}

/// The mean loss over all rows, or all rows one after another.
at::Tensor evaluate_batches(const Given& given) {
  std::vector<at::Tensor> parts;
  double rows = 0;
  for (const auto count : given.rows) rows += static_cast<double>(count);
  require(rows > 0, "there are no rows in the batches");
  for (std::size_t i = 0; i < given.rows.size(); ++i) {
    auto part = evaluate(given.source, static_cast<int64_t>(i));
    if (given.kind == "hessian") part = part * (static_cast<double>(given.rows[i]) / rows);
    parts.push_back(part);
  }
  return given.kind == "hessian" ? torch::stack(parts).sum() : torch::cat(parts);
}

std::unique_ptr<curvature::CurvatureOperator> make_operator(const Given& given) {
  require(given.names.size() == given.parameters.size(),
          "there are ",
          given.names.size(),
          " names for ",
          given.parameters.size(),
          " parameters");
  curvature::NamedParameters parameters;
  for (std::size_t i = 0; i < given.names.size(); ++i)
    parameters.emplace_back(given.names[i], given.parameters[i]);
  const curvature::LossFunction loss = [&given] {
    if (given.value) return *given.value;
    return given.rows.empty() ? evaluate(given.source, 0) : evaluate_batches(given);
  };
  // A given tensor is what it is: there is nothing to evaluate twice.
  const curvature::OperatorOptions options{.check_determinism = !given.value};
  if (given.kind == "hessian") return curvature::hessian(loss, parameters, options);
  if (given.kind == "fisher") return curvature::empirical_fisher(loss, parameters, options);
  if (given.kind == "covariance") return curvature::gradient_covariance(loss, parameters, options);
  require(given.kind == "ggn",
          "operator must be hessian, ggn, fisher or covariance, got '",
          given.kind,
          "'");
  require(given.output_loss == "cross_entropy" || given.output_loss == "squared",
          "the loss on the outputs must be cross_entropy or squared, got '",
          given.output_loss,
          "'");
  const auto output_loss = given.output_loss == "squared" ? curvature::OutputLoss::kSquared
                                                          : curvature::OutputLoss::kCrossEntropy;
  return curvature::gauss_newton(loss, output_loss, parameters, options);
}

linalg::SpectrumEnd end_named(const std::string& name) {
  if (name == "largest") return linalg::SpectrumEnd::kLargest;
  if (name == "smallest") return linalg::SpectrumEnd::kSmallest;
  require(name == "both", "which must be both, largest or smallest, got '", name, "'");
  return linalg::SpectrumEnd::kBoth;
}

Result spectrum(const std::optional<at::Tensor>& value,
                int64_t source,
                at::IntArrayRef rows,
                at::TensorList parameters,
                const std::vector<std::string>& names,
                const std::string& kind,
                const std::string& output_loss,
                int64_t top,
                const std::string& which,
                double tolerance,
                int64_t max_products,
                int64_t max_basis,
                bool find_repeated,
                bool vectors,
                int64_t seed,
                const std::optional<at::Tensor>& start) {
  linalg::LanczosOptions options;
  options.top = checked_int(top, "top");
  options.which = end_named(which);
  options.tolerance = tolerance;
  options.max_products = checked_int(max_products, "max_products");
  options.max_basis = checked_int(max_basis, "max_basis");
  options.find_repeated = find_repeated;
  options.vectors = vectors;
  options.seed = static_cast<std::uint64_t>(seed);
  const auto op = make_operator({value, source, rows, parameters, names, kind, output_loss});
  const auto pairs = curvature::eigenpairs(*op, options, start.value_or(at::Tensor()));
  const auto& found = pairs.found;
  Numbers out;
  out.insert("eigenvalues", tensor::from_vector(found.eigenvalues));
  out.insert("residuals", tensor::from_vector(found.residuals));
  out.insert("bounds", tensor::from_vector(found.bounds(op->product_noise())));
  out.insert("product_noise", number(op->product_noise()));
  if (pairs.vectors.defined()) out.insert("eigenvectors", pairs.vectors);
  return {out, linalg::to_string(found.status), found.products, kProductKind};
}

Result density(const std::optional<at::Tensor>& value,
               int64_t source,
               at::IntArrayRef rows,
               at::TensorList parameters,
               const std::vector<std::string>& names,
               const std::string& kind,
               const std::string& output_loss,
               int64_t steps,
               int64_t probes,
               int64_t points,
               double bandwidth,
               int64_t seed) {
  linalg::DensityOptions options;
  options.steps = checked_int(steps, "steps");
  options.probes = checked_int(probes, "probes");
  options.points = checked_int(points, "points");
  options.bandwidth = bandwidth;
  options.seed = static_cast<std::uint64_t>(seed);
  const auto op = make_operator({value, source, rows, parameters, names, kind, output_loss});
  const auto found = curvature::spectral_density(*op, options);
  Numbers out;
  out.insert("grid", tensor::from_vector(found.grid));
  out.insert("density", tensor::from_vector(found.density));
  out.insert("lower", tensor::from_vector(found.lower));
  out.insert("upper", tensor::from_vector(found.upper));
  out.insert("nodes", tensor::from_vector(found.nodes));
  out.insert("weights", tensor::from_vector(found.weights));
  out.insert("negative_mass", number(found.negative_mass));
  out.insert("near_zero_mass", number(found.near_zero_mass));
  out.insert("trace", number(found.trace));
  out.insert("trace_stderr", number(found.trace_stderr));
  out.insert("trace_lower", number(found.trace_lower));
  out.insert("trace_upper", number(found.trace_upper));
  return {out, linalg::to_string(found.status), found.products, kProductKind};
}

Result trace(const std::optional<at::Tensor>& value,
             int64_t source,
             at::IntArrayRef rows,
             at::TensorList parameters,
             const std::vector<std::string>& names,
             const std::string& kind,
             const std::string& output_loss,
             double relative_error,
             int64_t max_products,
             int64_t sketch,
             int64_t seed) {
  linalg::TraceOptions options;
  options.relative_error = relative_error;
  options.max_products = checked_int(max_products, "max_products");
  options.sketch = checked_int(sketch, "sketch");
  options.seed = static_cast<std::uint64_t>(seed);
  const auto op = make_operator({value, source, rows, parameters, names, kind, output_loss});
  const auto found = curvature::trace(*op, options);
  Numbers out;
  out.insert("value", number(found.value));
  out.insert("standard_error", number(found.standard_error));
  out.insert("lower", number(found.lower));
  out.insert("upper", number(found.upper));
  out.insert("vectors", number(found.vectors));
  return {out, linalg::to_string(found.status), found.products, kProductKind};
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
        "str output_loss, *, " +
        options + ") -> (Dict(str, Tensor) numbers, str status, int products, str product_kind)";
    library.def(schema.c_str(), function);
  };
  define("spectrum",
         "int top, str which, float tolerance, int max_products, int max_basis, "
         "bool find_repeated, bool vectors, int seed, Tensor? start",
         &kappascope::spectrum);
  define("density",
         "int steps, int probes, int points, float bandwidth, int seed",
         &kappascope::density);
  define(
      "trace", "float relative_error, int max_products, int sketch, int seed", &kappascope::trace);
  library.def("evaluate(int source, int batch) -> Tensor");
  library.def("version() -> str", [] { return std::string(kappascope::version()); });
}
