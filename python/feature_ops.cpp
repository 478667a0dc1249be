// SPDX-License-Identifier: Apache-2.0
// torch.ops.kappascope.kappa and learning: features go in, condition numbers or learning times come
// out. Python's side of them is kappascope/_features.py and _learning.py.
#include <torch/library.h>
#include <torch/types.h>

#include <array>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "kappascope/core/error.h"
#include "kappascope/tensor/kappa.h"
#include "kappascope/tensor/learning.h"
#include "tensor/convert.h"

namespace kappascope {
namespace {

/// Numbers by the name of their field, double and on the host: [6] those of the six estimates, [3,
/// 3] value and interval of effective rank, stable rank and isotropy as "shape", the others
/// scalars; status of each of the nine, reason of each of the six; the route.
using KappaFields = std::tuple<c10::Dict<std::string, at::Tensor>,
                               std::vector<std::string>,
                               std::vector<std::string>,
                               std::string>;

KappaFields kappa(const at::Tensor& rows,
                  const std::optional<at::Tensor>& bias,
                  int64_t rows_per_group,
                  double confidence,
                  int64_t sample_rows,
                  int64_t seed,
                  bool from_rows) {
  linalg::KappaOptions options;
  options.from_rows = from_rows;
  options.confidence = confidence;
  options.rows_per_group = rows_per_group;
  options.moments.sample_rows = sample_rows;
  options.moments.seed = static_cast<std::uint64_t>(seed);
  const auto found = tensor::kappa(rows, bias.value_or(at::Tensor()), options);

  const std::array<const linalg::KappaEstimate*, 6> estimates = {&found.sigma,
                                                                 &found.second_moment,
                                                                 &found.with_bias,
                                                                 &found.sigma_scaled,
                                                                 &found.second_moment_scaled,
                                                                 &found.with_bias_scaled};
  c10::Dict<std::string, at::Tensor> numbers;
  const auto add_of_each = [&](const char* name, auto field) {
    Eigen::VectorXd values(std::ssize(estimates));
    for (Eigen::Index i = 0; i < values.size(); ++i)
      values(i) = static_cast<double>(estimates[static_cast<std::size_t>(i)]->*field);
    numbers.insert(name, tensor::from_vector(values));
  };
  using linalg::KappaEstimate;
  add_of_each("value", &KappaEstimate::value);
  add_of_each("lower", &KappaEstimate::lower);
  add_of_each("upper", &KappaEstimate::upper);
  add_of_each("shrunk", &KappaEstimate::shrunk);
  add_of_each("on_range", &KappaEstimate::on_range);
  add_of_each("lambda_max", &KappaEstimate::lambda_max);
  add_of_each("lambda_min", &KappaEstimate::lambda_min);
  add_of_each("null_dimension", &KappaEstimate::null_dimension);
  add_of_each("n_effective", &KappaEstimate::n_effective);
  const auto add = [&](const char* name, auto value) {
    numbers.insert(name, torch::scalar_tensor(static_cast<double>(value), torch::kDouble));
  };
  add("rows", found.rows);
  add("nonfinite_rows", found.nonfinite_rows);
  add("mean_leverage", found.mean_leverage);
  add("kurtosis", found.kurtosis);
  add("constant_features", found.constant_features);
  add("dead_features", found.dead_features);
  const std::array<const linalg::SpectralEstimate*, 3> shapes = {
      &found.effective_rank, &found.stable_rank, &found.isotropy};
  Eigen::VectorXd of_shape(3 * std::ssize(shapes));
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    of_shape.segment<3>(3 * static_cast<Eigen::Index>(i)) << shapes[i]->value, shapes[i]->lower,
        shapes[i]->upper;
  }
  numbers.insert("shape", tensor::from_vector(of_shape).view({-1, 3}));
  std::vector<std::string> statuses, reasons;
  for (const auto* estimate : estimates) {
    statuses.emplace_back(linalg::to_string(estimate->resolution));
    reasons.push_back(estimate->reason);
  }
  for (const auto* shape : shapes) statuses.emplace_back(linalg::to_string(shape->resolution));
  return {numbers, statuses, reasons, linalg::to_string(found.route)};
}

/// Numbers by the name of their field, double and on the host: value, lower and upper [9] of steps
/// to 50, 90 and 99 % with Σ, with Σ+μμᵀ and with Σ+(μ+b)(μ+b)ᵀ, "ratios" [3, 3] those of what the
/// mean costs, what the bias leaves of it and what it changes, the others scalars; status and
/// reason of each of the nine.
using LearningFields = std::
    tuple<c10::Dict<std::string, at::Tensor>, std::vector<std::string>, std::vector<std::string>>;

LearningFields learning(const at::Tensor& rows,
                        const std::optional<at::Tensor>& bias,
                        int64_t rows_per_group,
                        double confidence,
                        bool scaled,
                        int64_t seed) {
  tensor::LearningOptions options;
  options.confidence = confidence;
  options.rows_per_group = rows_per_group;
  options.scaled = scaled;
  options.seed = static_cast<std::uint64_t>(seed);
  const auto found = tensor::learning(rows, bias.value_or(at::Tensor()), options);
  std::vector<double> value, lower, upper, ratios;
  std::vector<std::string> statuses, reasons;
  for (const auto* time : {&found.sigma, &found.second_moment, &found.with_bias})
    for (const auto* steps : {&time->half, &time->ninety, &time->ninety_nine}) {
      value.push_back(steps->value);
      lower.push_back(steps->lower);
      upper.push_back(steps->upper);
      statuses.emplace_back(linalg::to_string(steps->resolution));
      reasons.push_back(steps->reason);
    }
  for (const auto* ratio : {&found.mean_costs, &found.bias_leaves, &found.bias_changes})
    for (const double number : {ratio->value, ratio->lower, ratio->upper}) ratios.push_back(number);
  c10::Dict<std::string, at::Tensor> numbers;
  numbers.insert("value", torch::tensor(value, torch::kDouble));
  numbers.insert("lower", torch::tensor(lower, torch::kDouble));
  numbers.insert("upper", torch::tensor(upper, torch::kDouble));
  numbers.insert("ratios", torch::tensor(ratios, torch::kDouble).view({3, 3}));
  for (const auto& [name, count] : {std::pair("rows", found.rows),
                                    std::pair("groups", found.groups),
                                    std::pair("nonfinite_rows", found.nonfinite_rows)})
    numbers.insert(name, torch::scalar_tensor(static_cast<double>(count), torch::kDouble));
  return {numbers, statuses, reasons};
}

}  // namespace
}  // namespace kappascope

TORCH_LIBRARY_FRAGMENT(kappascope, library) {
  library.def(
      "kappa(Tensor rows, Tensor? bias, *, int rows_per_group, float confidence, int sample_rows, "
      "int seed, bool from_rows) -> (Dict(str, Tensor) numbers, str[] statuses, str[] reasons, "
      "str route)",
      &kappascope::kappa);
  library.def(
      "learning(Tensor rows, Tensor? bias, *, int rows_per_group, float confidence, bool scaled, "
      "int seed) -> (Dict(str, Tensor) numbers, str[] statuses, str[] reasons)",
      &kappascope::learning);
}
