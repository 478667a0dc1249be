// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kappascope/linalg/lanczos.h"
#include "kappascope/tensor/group.h"

namespace torch::nn {
class Module;
}

namespace kappascope::curvature {

/// Parameters with their names, in the order in which their entries make up a vector.
using NamedParameters = std::vector<std::pair<std::string, at::Tensor>>;

/// The parameters of `model` whose name matches `pattern`: a glob with `*` (any characters) and
/// `?` (one), "*" takes all. A tensor that the model holds under several names (shared weights)
/// comes once, under the first name that matches. Throws when none matches, naming what there is.
NamedParameters select_parameters(const torch::nn::Module& model, const std::string& pattern = "*");

/// Evaluates the loss (a scalar that depends on the parameters). Called at construction, twice when
/// determinism is checked, and again at each product where no graph is kept. It decides on dropout:
/// put the model into evaluation mode inside, or freeze the masks; a loss that differs between two
/// calls by more than rounding is refused. What users set for speed (TF32, autocast's cache of cast
/// weights) is off while it is evaluated and differentiated. It may give back a tensor that was
/// built before, with its graph; then only products of the kept graph can be taken.
using LossFunction = std::function<at::Tensor()>;

/// How products are taken; in gradients (one forward and one backward pass) for the Hessian and the
/// Gauss-Newton matrix.
enum class ProductKind {
  kAutomatic,         ///< in options: the graph kept, finite differences where that cannot be
  kGraphKept,         ///< fast: 2 and 4/3 gradients; memory of a forward and backward pass for good
  kRecomputed,        ///< small: 3 and 7/3 gradients; that memory during products only
  kFiniteDifference,  ///< 2 and 4/3 gradients, not exact: where the graph has no second derivative
};
/// "automatic", "graph kept", "recomputed", "finite difference".
const char* to_string(ProductKind kind);

struct OperatorOptions {
  /// Evaluate twice and refuse a loss that differs (dropout, a shuffling loader). Where no graph is
  /// kept, every later evaluation is compared too.
  bool check_determinism = true;
  ProductKind product = ProductKind::kAutomatic;
  /// Called before each evaluation of the loss, also those of the construction, which with finite
  /// differences are many: to show that it goes on, or to end it, by an exception.
  std::function<void()> before_evaluation = {};
};

/// Matrix-free curvature of a loss with respect to parameters, at their values of this moment.
/// Parameter values, `.grad`, and the model's mode are left alone (finite differences displace the
/// parameters during a product and put them back bit for bit).
class CurvatureOperator {
 public:
  virtual ~CurvatureOperator() = default;
  /// Number of parameters; of those that this process holds, where they are shared_with() others.
  [[nodiscard]] virtual int64_t size() const = 0;
  /// The gradient of the loss, of a Hessian: [size], as the construction found it; undefined for
  /// other operators.
  [[nodiscard]] virtual at::Tensor gradient() const { return {}; }
  /// C v for v: [size], brought to the type and device of the result, which vectors() tells.
  [[nodiscard]] virtual at::Tensor apply(const at::Tensor& v) const = 0;
  /// Type and device of products: the parameters', but float32 for half precision.
  [[nodiscard]] virtual at::TensorOptions vectors() const = 0;
  /// Relative error of one product, ‖Δ‖ / (‖C‖ ‖v‖): the unit roundoff of the parameters' type (in
  /// float64, float32, float16, bfloat16: 2⁻⁵³, 2⁻²⁴, 2⁻¹¹, 2⁻⁸), or of a coarser one on the graph
  /// (autocast), times a small factor; for finite differences, estimated by comparing steps.
  [[nodiscard]] virtual double product_noise() const = 0;
  /// Which products these are; never kAutomatic.
  [[nodiscard]] virtual ProductKind product_kind() const { return ProductKind::kGraphKept; }
  /// Why they are finite differences (LibTorch's words on the missing derivative); else empty.
  [[nodiscard]] virtual std::string product_reason() const { return {}; }
  /// The processes that hold a part of every vector each. All of them must make the same calls:
  /// products, and the methods of spectrum.h, which give the same numbers in each. Null: this one
  /// holds all.
  [[nodiscard]] virtual tensor::Group* shared_with() const { return nullptr; }
};

/// The Hessian, by double backward (Pearlmutter 1994). A parameter that the loss does not reach has
/// zero rows. Throws kappascope::Error when the loss is not a finite scalar, does not depend on any
/// parameter, or is not deterministic (with both values); when a parameter is frozen (with its
/// name) or listed twice; and when exact products were asked for and a derivative is missing.
std::unique_ptr<CurvatureOperator> hessian(const LossFunction& loss,
                                           const NamedParameters& parameters,
                                           const OperatorOptions& options = {});

/// The loss on top of the network's outputs, for the Gauss-Newton matrix.
enum class OutputLoss {
  kCrossEntropy,  ///< mean over rows of -log softmax(outputs)[label]
  kSquared,       ///< mean over rows of ½ ‖outputs - target‖²
};

/// Any other: a scalar of the outputs [rows, classes] that gauss_newton() evaluates, with a second
/// derivative by them. Labels, masks, weights and the reduction are its own.
using LossOfOutputs = std::function<at::Tensor(const at::Tensor& outputs)>;

/// The Gauss-Newton matrix Jᵀ H J, exact: J v by two backward passes, H in closed form (Schraudolph
/// 2002); with ProductKind::kFiniteDifference, J v is a difference of outputs. `outputs` evaluates
/// the network's outputs [rows, classes]. Throws as hessian() does.
std::unique_ptr<CurvatureOperator> gauss_newton(const LossFunction& outputs,
                                                OutputLoss loss,
                                                const NamedParameters& parameters,
                                                const OperatorOptions& options = {});

/// The same for any loss on the outputs, whose H is had by double backward at each product. Throws
/// Error, at a product, where the loss is not a scalar or does not depend on the outputs.
std::unique_ptr<CurvatureOperator> gauss_newton(const LossFunction& outputs,
                                                const LossOfOutputs& loss,
                                                const NamedParameters& parameters,
                                                const OperatorOptions& options = {});

/// The empirical Fisher matrix (1/N) Σ g_i g_iᵀ of the gradients g_i of N losses; `losses`
/// evaluates them, [rows]. It is the Gauss-Newton matrix of the losses as outputs.
std::unique_ptr<CurvatureOperator> empirical_fisher(const LossFunction& losses,
                                                    const NamedParameters& parameters,
                                                    const OperatorOptions& options = {});

/// Their covariance with divisor N, the empirical Fisher less the outer product of the mean
/// gradient: what a batch of one would add to the gradient as noise.
std::unique_ptr<CurvatureOperator> gradient_covariance(const LossFunction& losses,
                                                       const NamedParameters& parameters,
                                                       const OperatorOptions& options = {});

/// The operator, with a call after each product that tells how many were taken so far: to show
/// progress, or to end the method that multiplies, by an exception. `op` must outlive the result.
std::unique_ptr<CurvatureOperator> watched(const CurvatureOperator& op,
                                           std::function<void(int products)> after_product);

/// Products that scaled() takes.
inline constexpr int kScalingProducts = 4;

/// D C D with the diagonal matrix D = diag(scale), [n]: with P^(-1/2) for D the curvature that an
/// optimiser sees whose step is P⁻¹ times a mean of gradients (preconditioner.h). Costs
/// kScalingProducts, by which product_noise() is measured: as far as they are from linear. Throws
/// Error where `scale` has another size, or an entry that is not positive and finite. An `op` that
/// is not shared must outlive the result.
std::unique_ptr<CurvatureOperator> scaled(const CurvatureOperator& op, const at::Tensor& scale);
std::unique_ptr<CurvatureOperator> scaled(std::shared_ptr<const CurvatureOperator> op,
                                          const at::Tensor& scale);

/// The operator for the methods of the host (vectors in double; products in the parameters' type);
/// spectrum.h has those that keep their vectors on the device. `op` must outlive the result.
linalg::SymmetricOperator as_linear(const CurvatureOperator& op);

/// The Schur complement A - B C⁺ Bᵀ of a joint operator [A B; Bᵀ C] that eliminates its last
/// `eliminated` coordinates (the intercept, say: list its parameter last). Costs `eliminated`
/// products at once and 8 more for the norms below, then one product of `joint` each; keeps B, a
/// vector for each eliminated coordinate. Sums are in double. Eigenvalues of C within rounding of
/// zero are left out of its inverse.
///
/// Where the difference cancels, its products are worse than the joint ones: product_noise() is
/// that of `joint` times (‖A‖ + 3 ‖B C⁺ Bᵀ‖) / ‖A - B C⁺ Bᵀ‖, the norms by power iteration.
std::unique_ptr<CurvatureOperator> schur_complement(std::shared_ptr<const CurvatureOperator> joint,
                                                    int64_t eliminated);

/// The matrix itself, by one product a column. For tests and small blocks: n products, n² numbers.
Eigen::MatrixXd to_dense(const linalg::SymmetricOperator& op);

}  // namespace kappascope::curvature
