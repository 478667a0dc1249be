// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "curvature/products/central_difference.h"
#include "curvature/products/evaluation.h"

namespace kappascope::curvature {

/// The output metric M at these outputs: from J v to M J v, to which Jᵀ is applied, both
/// [rows, classes].
using OutputMetric = std::function<at::Tensor(const at::Tensor& push, const at::Tensor& outputs)>;

/// Jᵀ M J for the Jacobian J of outputs [rows, classes] and a symmetric output metric M. Jᵀu is
/// linear in u, so differentiating ⟨Jᵀu, v⟩ by u gives J v: two backward passes, without forward
/// mode.
class JtmjOperator final : public ParameterOperator {
 public:
  /// `outputs` evaluates [rows, classes], or [rows] for one class.
  JtmjOperator(const LossFunction& outputs,
               std::string what,
               const NamedParameters& parameters,
               OutputMetric metric,
               const OperatorOptions& options);

  [[nodiscard]] at::Tensor apply(const at::Tensor& v) const override { return apply(v, metric_); }
  [[nodiscard]] at::Tensor apply(const at::Tensor& v, const OutputMetric& metric) const;
  /// Jᵀu for u: [rows, classes].
  [[nodiscard]] at::Tensor transposed(const at::Tensor& u) const;
  [[nodiscard]] int64_t rows() const { return rows_; }

 private:
  struct Graph {
    at::Tensor outputs;
    at::Tensor dummy;                // u, in the type of the outputs
    std::vector<at::Tensor> pulled;  // Jᵀu by parameter, with its graph
  };
  [[nodiscard]] at::Tensor evaluate() const;
  [[nodiscard]] at::Tensor elsewhere() const;
  [[nodiscard]] at::Tensor slope(const at::Tensor& outputs, bool keep_graph) const;
  [[nodiscard]] Graph build() const;
  [[nodiscard]] at::Tensor push(const Graph& graph, const at::Tensor& v) const;
  [[nodiscard]] at::Tensor pull(const at::Tensor& outputs,
                                const at::Tensor& u,
                                bool keep_graph) const;
  void difference_along(const at::Tensor& outputs);

  OutputMetric metric_;
  int64_t rows_ = 0;
  Graph graph_;  // empty unless it is kept; with finite differences the outputs alone
  std::optional<CentralDifference> difference_;
};

/// (push - mean) / rows, with the mean of the rows themselves.
OutputMetric centred_rows();
OutputMetric divided_by_rows();
OutputMetric output_hessian(OutputLoss loss);
OutputMetric output_hessian(LossOfOutputs loss);

std::unique_ptr<JtmjOperator> make_gauss_newton(const LossFunction& outputs,
                                                OutputMetric metric,
                                                const NamedParameters& parameters,
                                                const OperatorOptions& options);
std::unique_ptr<JtmjOperator> make_fisher(const LossFunction& losses,
                                          const NamedParameters& parameters,
                                          const OperatorOptions& options,
                                          OutputMetric metric = divided_by_rows());

}  // namespace kappascope::curvature
