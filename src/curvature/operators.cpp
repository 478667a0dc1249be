// SPDX-License-Identifier: Apache-2.0
#include "kappascope/curvature/operators.h"

#include <utility>

#include "core/names.h"
#include "core/require.h"
#include "tensor/convert.h"

namespace kappascope::curvature {
namespace {

class Watched final : public CurvatureOperator {
 public:
  Watched(const CurvatureOperator& op, std::function<void(int)> after_product)
      : op_(op), after_product_(std::move(after_product)) {}
  [[nodiscard]] int64_t size() const override { return op_.size(); }
  [[nodiscard]] at::TensorOptions vectors() const override { return op_.vectors(); }
  [[nodiscard]] double product_noise() const override { return op_.product_noise(); }
  [[nodiscard]] ProductKind product_kind() const override { return op_.product_kind(); }
  [[nodiscard]] std::string product_reason() const override { return op_.product_reason(); }
  [[nodiscard]] tensor::Group* shared_with() const override { return op_.shared_with(); }
  [[nodiscard]] at::Tensor gradient() const override { return op_.gradient(); }
  [[nodiscard]] at::Tensor apply(const at::Tensor& v) const override {
    auto product = op_.apply(v);
    after_product_(++products_);
    return product;
  }

 private:
  const CurvatureOperator& op_;
  std::function<void(int)> after_product_;
  mutable int products_ = 0;
};

}  // namespace

std::unique_ptr<CurvatureOperator> watched(const CurvatureOperator& op,
                                           std::function<void(int)> after_product) {
  return std::make_unique<Watched>(op, std::move(after_product));
}

const char* to_string(ProductKind kind) {
  return name_in<ProductKind::kFiniteDifference>(
      std::array{"automatic", "graph kept", "recomputed", "finite difference"}, kind);
}

linalg::SymmetricOperator as_linear(const CurvatureOperator& op) {
  require(op.shared_with() == nullptr,
          "vectors that are sharded over processes have no place in one process's memory");
  linalg::SymmetricOperator linear;
  linear.size = op.size();
  linear.product_noise = op.product_noise();
  linear.apply = [&op](const Eigen::VectorXd& x, Eigen::VectorXd& y) {
    y = tensor::to_vector(op.apply(tensor::from_vector(x)));
  };
  return linear;
}

Eigen::MatrixXd to_dense(const linalg::SymmetricOperator& op) {
  Eigen::MatrixXd dense(op.size, op.size);
  Eigen::VectorXd unit = Eigen::VectorXd::Zero(op.size), column(op.size);
  for (Eigen::Index j = 0; j < op.size; ++j) {
    unit[j] = 1;
    op.apply(unit, column);
    dense.col(j) = column;
    unit[j] = 0;
  }
  return dense;
}

}  // namespace kappascope::curvature
