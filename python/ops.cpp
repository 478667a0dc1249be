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

/// The operator of `value`, whose graph is given: a scalar loss, outputs [rows, classes], or losses
/// [rows]. There is nothing to evaluate twice; Python has done that where it could.
std::unique_ptr<curvature::CurvatureOperator> make_operator(const at::Tensor& value,
                                                            const at::TensorList& parameters,
                                                            const std::vector<std::string>& names,
                                                            const std::string& kind,
                                                            const std::string& output_loss) {
  require(names.size() == parameters.size(),
          "there are ",
          names.size(),
          " names for ",
          parameters.size(),
          " parameters");
  curvature::NamedParameters named;
  for (std::size_t i = 0; i < names.size(); ++i) named.emplace_back(names[i], parameters[i]);
  const curvature::LossFunction given = [&value] { return value; };
  const curvature::OperatorOptions once{.check_determinism = false};
  if (kind == "hessian") return curvature::hessian(given, named, once);
  if (kind == "fisher") return curvature::empirical_fisher(given, named, once);
  if (kind == "covariance") return curvature::gradient_covariance(given, named, once);
  require(kind == "ggn", "operator must be hessian, ggn, fisher or covariance, got '", kind, "'");
  require(output_loss == "cross_entropy" || output_loss == "squared",
          "the loss on the outputs must be cross_entropy or squared, got '",
          output_loss,
          "'");
  return curvature::gauss_newton(given,
                                 output_loss == "squared" ? curvature::OutputLoss::kSquared
                                                          : curvature::OutputLoss::kCrossEntropy,
                                 named,
                                 once);
}

linalg::SpectrumEnd end_named(const std::string& name) {
  if (name == "largest") return linalg::SpectrumEnd::kLargest;
  if (name == "smallest") return linalg::SpectrumEnd::kSmallest;
  require(name == "both", "which must be both, largest or smallest, got '", name, "'");
  return linalg::SpectrumEnd::kBoth;
}

Result spectrum(const at::Tensor& value,
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
  const auto op = make_operator(value, parameters, names, kind, output_loss);
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

Result density(const at::Tensor& value,
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
  const auto op = make_operator(value, parameters, names, kind, output_loss);
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

Result trace(const at::Tensor& value,
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
  const auto op = make_operator(value, parameters, names, kind, output_loss);
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
  // What the operators share: the value with its graph, and what it is to be differentiated by.
  const auto define = [&library](
                          const std::string& name, const std::string& options, auto function) {
    const std::string schema =
        name +
        "(Tensor value, Tensor[] parameters, str[] names, str operator, str output_loss, *, " +
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
  library.def("version() -> str", [] { return std::string(kappascope::version()); });
}
