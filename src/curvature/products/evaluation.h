// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kappascope/curvature/operators.h"

namespace kappascope::curvature {

/// A function of the parameters that must have the same value whenever it is evaluated.
class Evaluation {
 public:
  /// `what` names the function in messages. Nothing is evaluated yet.
  Evaluation(LossFunction function, std::string what, const OperatorOptions& options)
      : function_(std::move(function)), what_(std::move(what)), check_(options.check_determinism) {}

  /// The value with its graph. Throws when it is not finite, depends on no parameter, or is not
  /// the one of the last time (unless determinism goes unchecked).
  at::Tensor with_graph();
  /// The value without a graph, for the comparison alone; nothing when determinism goes unchecked.
  void compare();
  /// Whether each call evaluates; false for a tensor that was built once, with its graph.
  [[nodiscard]] bool evaluates_afresh() const;
  /// The value at displaced parameters, with a graph in grad mode: no comparison.
  [[nodiscard]] at::Tensor elsewhere() const { return function_(); }

 private:
  void hold(const at::Tensor& value);

  LossFunction function_;
  std::string what_;
  bool check_;
  std::optional<double> seen_;  // sum of the last value
};

/// Their tensors. Throws when there is none, when one is frozen, and when one stands there twice.
std::vector<at::Tensor> tensors_of(const NamedParameters& parameters);

/// Type and device of products: the parameters' own, float32 where they are in half precision
/// (whose products underflow), float64 where any of them is.
at::TensorOptions vectors_of(const std::vector<at::Tensor>& parameters);

/// Unit roundoff of the coarsest type among them.
double roundoff_of(const std::vector<at::Tensor>& parameters);

/// Unit roundoff of the coarsest type of 16 bits on the graph of these tensors (autocast, FSDP's
/// mixed precision); 0: none.
double graph_roundoff(const std::vector<at::Tensor>& tensors);

/// Where a backward pass begins: tensors with a graph and what is pulled back from each.
struct Roots {
  std::vector<at::Tensor> outputs, cotangents;
  double scale = 1;  ///< a power of two that the cotangents were multiplied by
};
/// For outputs of the parameters' shapes, undefined ones and those without a graph left out (they
/// are constant); `v` holds the cotangents one after the other. In half precision the largest is
/// scaled to between 1 and 2, as small ones would underflow.
Roots roots_of(const std::vector<at::Tensor>& outputs,
               const std::vector<at::Tensor>& parameters,
               const at::Tensor& v);

/// Backward from the roots to the parameters, as one vector of the type of products, unscaled.
at::Tensor pull_back(const Roots& roots,
                     const std::vector<at::Tensor>& parameters,
                     bool keep_graph);

/// What an operator has whatever its product: the function, its parameters, and what is known about
/// them.
class ParameterOperator : public CurvatureOperator {
 public:
  /// Evaluates the function once if determinism is checked.
  ParameterOperator(Evaluation function, const NamedParameters& parameters);

  /// Evaluates the function once more, and throws when its value has changed.
  void compare() const { function_.compare(); }

  [[nodiscard]] int64_t size() const override { return size_; }
  [[nodiscard]] at::TensorOptions vectors() const override { return vectors_of(parameters_); }
  [[nodiscard]] double product_noise() const override { return noise_; }
  [[nodiscard]] ProductKind product_kind() const override { return kind_; }
  [[nodiscard]] std::string product_reason() const override { return reason_; }

 protected:
  /// Reads off a graph of first order, whose `gradients` a product will differentiate, how exact
  /// products can be, and decides how to take them: as asked for, and for kAutomatic with the graph
  /// kept or by finite differences, found by trying. Throws when another kind was asked for and
  /// there is no second derivative.
  void decide(ProductKind asked,
              const std::vector<at::Tensor>& gradients,
              const std::function<void()>& one_product);

  mutable Evaluation function_;
  std::vector<at::Tensor> parameters_;
  int64_t size_ = 0;
  double
      roundoff_;  ///< of the coarsest type among the parameters and, under autocast, on the graph
  double noise_;
  ProductKind kind_ = ProductKind::kGraphKept;
  std::string reason_;
};

/// Behind curvature::hessian.
std::unique_ptr<ParameterOperator> make_hessian(const LossFunction& loss,
                                                const NamedParameters& parameters,
                                                const OperatorOptions& options);

}  // namespace kappascope::curvature
