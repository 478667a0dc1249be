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

/// What stands between Jᵀ and J for these outputs: from J v to what Jᵀ is applied to, both
/// [rows, classes].
using Middle = std::function<at::Tensor(const at::Tensor& push, const at::Tensor& outputs)>;

/// Jᵀ M J for the Jacobian J of outputs [rows, classes] and a symmetric M between. Jᵀu is linear in
/// u, so differentiating ⟨Jᵀu, v⟩ by u gives J v: two backward passes, without forward mode.
class Sandwich final : public ParameterOperator {
 public:
  /// `outputs` evaluates [rows, classes], or [rows] for one class.
  Sandwich(const LossFunction& outputs,
           std::string what,
           const NamedParameters& parameters,
           Middle middle,
           const OperatorOptions& options);

  [[nodiscard]] at::Tensor apply(const at::Tensor& v) const override { return apply(v, middle_); }
  [[nodiscard]] at::Tensor apply(const at::Tensor& v, const Middle& middle) const;
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
  [[nodiscard]] Graph build() const;
  [[nodiscard]] at::Tensor push(const Graph& graph, const at::Tensor& v) const;
  [[nodiscard]] at::Tensor pull(const at::Tensor& outputs,
                                const at::Tensor& u,
                                bool keep_graph) const;
  void difference_along(const at::Tensor& outputs);

  Middle middle_;
  int64_t rows_ = 0;
  Graph graph_;  // empty unless it is kept; with finite differences the outputs alone
  std::optional<CentralDifference> difference_;
};

/// (push - mean) / rows, with the mean of the rows themselves.
Middle centred_rows();
Middle divided_by_rows();
Middle output_hessian(OutputLoss loss);

std::unique_ptr<Sandwich> make_gauss_newton(const LossFunction& outputs,
                                            OutputLoss loss,
                                            const NamedParameters& parameters,
                                            const OperatorOptions& options);
std::unique_ptr<Sandwich> make_fisher(const LossFunction& losses,
                                      const NamedParameters& parameters,
                                      const OperatorOptions& options,
                                      Middle middle = divided_by_rows());

}  // namespace kappascope::curvature
