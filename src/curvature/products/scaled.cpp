// SPDX-License-Identifier: Apache-2.0
#include <ATen/CPUGeneratorImpl.h>
#include <torch/types.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "core/require.h"
#include "kappascope/curvature/operators.h"

namespace kappascope::curvature {
namespace {

class Scaled final : public CurvatureOperator {
 public:
  Scaled(std::shared_ptr<const CurvatureOperator> op, const at::Tensor& scale)
      : op_(std::move(op)), scale_(scale.to(op_->vectors())), noise_(measured_noise()) {}
  [[nodiscard]] int64_t size() const override { return op_->size(); }
  [[nodiscard]] at::TensorOptions vectors() const override { return op_->vectors(); }
  [[nodiscard]] double product_noise() const override { return noise_; }
  [[nodiscard]] ProductKind product_kind() const override { return op_->product_kind(); }
  [[nodiscard]] std::string product_reason() const override { return op_->product_reason(); }
  [[nodiscard]] at::Tensor apply(const at::Tensor& v) const override {
    return scale_ * op_->apply(scale_ * v.to(scale_.options()));
  }

 private:
  /// Exact products are linear, so what ours lack of it is their error, of two products and a half.
  /// Looked at along the image of a random direction, where the largest eigenvalues are.
  [[nodiscard]] double measured_noise() const {
    constexpr double kSafety = 4;  // one direction stands for all
    const torch::NoGradGuard no_grad;
    auto generator = at::detail::createCPUGenerator(1);
    const auto draw = torch::randn({op_->size()}, generator, torch::kDouble).to(op_->vectors());
    const auto image = apply(draw / draw.norm());
    const auto direction = image / image.norm();
    const auto chosen =
        torch::rand({op_->size()}, generator, torch::kDouble).to(op_->vectors()) < 0.5;
    const auto whole = apply(direction);
    const auto parts = apply(direction * chosen) + apply(direction * ~chosen);
    const double defect = ((parts - whole).norm() / whole.norm()).to(torch::kDouble).item<double>();
    // A product that is no number is told by the method that multiplies.
    if (!(defect - defect == 0)) return op_->product_noise();
    return std::max(kSafety * defect, op_->product_noise());
  }

  std::shared_ptr<const CurvatureOperator> op_;
  at::Tensor scale_;
  double noise_;
};

}  // namespace

std::unique_ptr<CurvatureOperator> scaled(std::shared_ptr<const CurvatureOperator> op,
                                          const at::Tensor& scale) {
  require(op != nullptr, "there is no operator to scale");
  require(scale.dim() == 1 && scale.numel() == op->size(),
          "the scale of {} parameters has {} numbers",
          op->size(),
          scale.numel());
  require((scale > 0).all().item<bool>() && scale.isfinite().all().item<bool>(),
          "a scale must be positive and finite");
  return std::make_unique<Scaled>(std::move(op), scale);
}

std::unique_ptr<CurvatureOperator> scaled(const CurvatureOperator& op, const at::Tensor& scale) {
  // Shares nothing: the caller keeps it.
  return scaled(std::shared_ptr<const CurvatureOperator>(std::shared_ptr<void>(), &op), scale);
}

}  // namespace kappascope::curvature
