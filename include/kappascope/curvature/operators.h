// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kappascope/linalg/lanczos.h"

namespace torch::nn {
class Module;
}

namespace kappascope::curvature {

/// Parameters with their names, in the order in which their entries make up a vector.
using NamedParameters = std::vector<std::pair<std::string, at::Tensor>>;

/// The parameters of `model` whose name matches `pattern`: a glob with `*` (any characters) and
/// `?` (one), "*" takes all. Throws when none matches, naming what there is.
NamedParameters select_parameters(const torch::nn::Module& model, const std::string& pattern = "*");

/// Evaluates the loss (a scalar that depends on the parameters). Called once, or twice when
/// determinism is checked. It decides on dropout: put the model into evaluation mode inside, or
/// freeze the masks; a loss that differs between two calls is refused.
using LossFunction = std::function<at::Tensor()>;

struct OperatorOptions {
  /// Evaluate twice and refuse a loss that differs (dropout, a shuffling loader).
  bool check_determinism = true;
};

/// Matrix-free curvature of a loss with respect to parameters, at their values of this moment.
/// Parameter values, `.grad`, and the model's mode are left alone.
///
/// The first-order graph is built once and kept, so a product costs about two gradients. The graph
/// lives as long as the operator: memory of one forward and backward pass.
class CurvatureOperator {
 public:
  virtual ~CurvatureOperator() = default;
  /// Number of parameters.
  [[nodiscard]] virtual int64_t size() const = 0;
  /// C v for v: [size]; the result has the parameters' type and device, v is brought there.
  [[nodiscard]] virtual at::Tensor apply(const at::Tensor& v) const = 0;
  /// Type and device of products.
  [[nodiscard]] virtual at::TensorOptions vectors() const = 0;
  /// Relative error of one product: 2⁻⁵³ or 2⁻²⁴ times a small factor, by the parameters' type.
  [[nodiscard]] virtual double product_noise() const = 0;
};

/// The Hessian, by double backward (Pearlmutter 1994).
/// Throws kappascope::Error when the loss is not a finite scalar, does not depend on a parameter at
/// all, or is not deterministic (with both values).
std::unique_ptr<CurvatureOperator> hessian(const LossFunction& loss,
                                           const NamedParameters& parameters,
                                           const OperatorOptions& options = {});

/// The loss on top of the network's outputs, for the Gauss-Newton matrix.
enum class OutputLoss {
  kCrossEntropy,  ///< mean over rows of -log softmax(outputs)[label]
  kSquared,       ///< mean over rows of ½ ‖outputs - target‖²
};

/// The Gauss-Newton matrix Jᵀ H J, exact: J v by two backward passes through the kept graph, H in
/// closed form (Schraudolph 2002). `outputs` evaluates the network's outputs [rows, classes].
std::unique_ptr<CurvatureOperator> gauss_newton(const LossFunction& outputs,
                                                OutputLoss loss,
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

/// The operator for the methods of the host (vectors in double; products in the parameters' type);
/// spectrum.h has those that keep their vectors on the device. `op` must outlive the result.
linalg::SymmetricOperator as_linear(const CurvatureOperator& op);

/// The Schur complement A - B C⁺ Bᵀ of a joint operator [A B; Bᵀ C] that eliminates its last
/// `eliminated` coordinates (the intercept, say). Costs `eliminated` products at once, then one
/// product of `joint` each. Eigenvalues of C within rounding of zero are left out of its inverse.
linalg::SymmetricOperator schur_complement(const linalg::SymmetricOperator& joint,
                                           Eigen::Index eliminated);

/// The matrix itself, by one product a column. For tests and small blocks: n products, n² numbers.
Eigen::MatrixXd to_dense(const linalg::SymmetricOperator& op);

}  // namespace kappascope::curvature
