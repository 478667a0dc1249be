// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kappascope/curvature/operators.h"
#include "tensor/autocast.h"
#include "tensor/full_float.h"

namespace kappascope::curvature {

/// A product sums a few thousand terms in each layer; 16 units in the last place is what float32
/// products were measured to lose against double (3e-7 to 7e-7 relative).
inline constexpr double kProductRoundoffs = 16;

/// How a loss is evaluated and differentiated, as long as one lives: in float where the parameters
/// are float (no TF32), and with no weight that autocast cast before, at other parameters or
/// without a graph. What the user has set is put back.
class Undisturbed {
 public:
  Undisturbed();
  ~Undisturbed();
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;

 private:
  tensor::FullFloat full_;
  tensor::NoCastCache uncached_;
};

/// A function of the parameters that must have the same value whenever it is evaluated.
class Evaluation {
 public:
  /// `what` names the function in messages. Nothing is evaluated yet.
  Evaluation(LossFunction function, std::string what, const OperatorOptions& options)
      : function_(std::move(function)),
        before_(options.before_evaluation),
        what_(std::move(what)),
        check_(options.check_determinism) {}

  /// The value with its graph. Throws when it is not finite, depends on no parameter, or is not
  /// the one of the last time (unless determinism goes unchecked).
  at::Tensor with_graph();
  /// The value without a graph, for the comparison alone; nothing when determinism goes unchecked.
  void compare();
  /// The value at displaced parameters, with a graph in grad mode: no comparison.
  [[nodiscard]] at::Tensor elsewhere() const;
  /// Whether the last value with a graph was evaluated then; false for a tensor that was built
  /// before.
  [[nodiscard]] bool evaluates_afresh() const { return afresh_; }
  /// Throws where a part of that value's graph is older and was computed from one of the
  /// parameters.
  void require_no_older_part(const at::Tensor& value, const NamedParameters& parameters) const;

  /// Allows values to differ by `share` of the first, from now on and so far; returns whether any
  /// did (sums in no fixed order). Before this is called, each may.
  bool settle(double share);

 private:
  void hold(const at::Tensor& value);
  void require_within(double share, double sum) const;

  LossFunction function_;
  std::function<void()> before_;
  std::string what_;
  bool check_;
  bool afresh_ = false;
  uint64_t began_ = 0;           // autograd's count of nodes before the last value with a graph
  std::optional<double> seen_;   // sum of the first value
  std::optional<double> other_;  // of one that was another
  std::optional<double> share_;
};

/// Σ entries², in double.
double squared_length(const at::Tensor& tensor);

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
  /// Throws where the function is not deterministic: where its values differ by more than rounding,
  /// or where they differ and so do the slope and `another`, [size] each.
  void settle(const std::function<at::Tensor()>& slope, const std::function<at::Tensor()>& another);
  /// Throws where differences of `value`, which has `slope` and is the sum of the function's, would
  /// not see a parameter move.
  void require_displaceable(const at::Tensor& value, const at::Tensor& slope) const;

  mutable Evaluation function_;
  NamedParameters named_;
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
