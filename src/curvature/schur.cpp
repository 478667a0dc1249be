// SPDX-License-Identifier: Apache-2.0
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/require.h"
#include "kappascope/curvature/operators.h"
#include "kappascope/linalg/random.h"
#include "kappascope/linalg/symmetric_eigen.h"
#include "tensor/convert.h"
#include "tensor/multivector/multivector.h"

namespace kappascope::curvature {
namespace {

/// A lower estimate of the norm of a symmetric operator, by a few steps of power iteration.
double norm_of(const std::function<at::Tensor(const at::Tensor&)>& apply,
               int64_t size,
               const at::TensorOptions& options) {
  constexpr int kSteps = 4;
  auto x = tensor::from_vector(linalg::Random(0).normal_vector(size)).to(options.device());
  double norm = 0;
  for (int step = 0; step < kSteps; ++step) {
    const double length = std::sqrt(x.square().sum().item<double>());
    if (length == 0) return 0;
    x = apply((x / length).to(options)).to(torch::kDouble);
    norm = std::sqrt(x.square().sum().item<double>());
  }
  return norm;
}

class SchurComplement final : public CurvatureOperator {
 public:
  SchurComplement(std::shared_ptr<const CurvatureOperator> joint, int64_t eliminated)
      : joint_(std::move(joint)), size_(joint_->size() - eliminated) {
    require(eliminated >= 1 && size_ >= 1,
            "a Schur complement of order {} cannot eliminate {} coordinates",
            joint_->size(),
            eliminated);
    Eigen::MatrixXd c(eliminated, eliminated);
    for (int64_t j = 0; j < eliminated; ++j) {
      auto unit = torch::zeros({joint_->size()}, vectors());
      unit[size_ + j] = 1;
      const auto column = joint_->apply(unit);
      columns_.push_back(column.narrow(0, 0, size_).clone());
      c.col(j) = tensor::to_vector(column.narrow(0, size_, eliminated));
    }
    invert(0.5 * (c + c.transpose()));
    estimate_noise();
  }

  [[nodiscard]] int64_t size() const override { return size_; }
  [[nodiscard]] at::TensorOptions vectors() const override { return joint_->vectors(); }
  [[nodiscard]] double product_noise() const override { return noise_; }
  [[nodiscard]] ProductKind product_kind() const override { return joint_->product_kind(); }
  [[nodiscard]] std::string product_reason() const override { return joint_->product_reason(); }
  [[nodiscard]] at::Tensor apply(const at::Tensor& v) const override {
    const auto x = v.detach().to(vectors());
    const auto product = kept_product(x).to(torch::kDouble, /*non_blocking=*/false, /*copy=*/true);
    subtract_eliminated(x, product);
    return product.to(vectors());
  }

 private:
  /// A x, in the type of products.
  [[nodiscard]] at::Tensor kept_product(const at::Tensor& x) const {
    const auto rest = torch::zeros({joint_->size() - size_}, vectors());
    return joint_->apply(torch::cat({x, rest})).narrow(0, 0, size_);
  }
  /// y -= B C⁺ Bᵀ x; y in double.
  void subtract_eliminated(const at::Tensor& x, const at::Tensor& y) const {
    const auto wide = x.to(torch::kDouble).contiguous();
    const auto& kernels = tensor::MultivectorKernels::on(y.device());
    kernels.subtract(columns_, c_inverse_ * kernels.dots(columns_, wide), y);
  }

  void invert(const Eigen::MatrixXd& c) {
    require(c.allFinite(), "the eliminated block is not finite");
    const auto [values, vectors] = linalg::symmetric_eigen(c);
    const double floor =
        joint_->product_noise() * static_cast<double>(values.size()) * values.cwiseAbs().maxCoeff();
    const Eigen::VectorXd inverse =
        (values.array().abs() > floor).select(values.array().inverse(), 0.0);
    c_inverse_ = vectors * inverse.asDiagonal() * vectors.transpose();
  }

  void estimate_noise() {
    const double kept =
        norm_of([this](const at::Tensor& x) { return kept_product(x); }, size_, vectors());
    const double left = norm_of([this](const at::Tensor& x) { return apply(x); }, size_, vectors());
    const auto removed = [this](const at::Tensor& x) {
      auto y = torch::zeros({size_}, vectors().dtype(torch::kDouble));
      subtract_eliminated(x, y);
      return y;
    };
    const double loss = norm_of(removed, size_, vectors());
    noise_ = joint_->product_noise();
    // Nothing is left but rounding where left is zero: such products are all error.
    noise_ *= left > 0 ? std::max(1.0, (kept + 3 * loss) / left) : 1;
  }

  std::shared_ptr<const CurvatureOperator> joint_;
  int64_t size_;
  std::vector<at::Tensor> columns_;  // B, [size_] each, in the type of products
  Eigen::MatrixXd c_inverse_;
  double noise_ = 0;
};

}  // namespace

std::unique_ptr<CurvatureOperator> schur_complement(std::shared_ptr<const CurvatureOperator> joint,
                                                    int64_t eliminated) {
  require(joint != nullptr, "a Schur complement needs a joint operator");
  return std::make_unique<SchurComplement>(std::move(joint), eliminated);
}

}  // namespace kappascope::curvature
