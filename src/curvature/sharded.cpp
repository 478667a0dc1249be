// SPDX-License-Identifier: Apache-2.0
#include "kappascope/curvature/sharded.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "curvature/gathered.h"
#include "curvature/products/central_difference.h"
#include "curvature/products/evaluation.h"
#include "kappascope/core/require.h"
#include "kappascope/linalg/random.h"
#include "kappascope/tensor/convert.h"

namespace kappascope::curvature {
namespace {

class ShardedHessian final : public CurvatureOperator {
 public:
  ShardedHessian(std::function<ShardedGradient()> gradient,
                 const NamedParameters& shards,
                 tensor::Group* group,
                 const OperatorOptions& options)
      : gradient_(std::move(gradient)), group_(group) {
    require(options.product == ProductKind::kAutomatic ||
                options.product == ProductKind::kFiniteDifference,
            "sharded parameters have products by finite differences alone: their gradient has no "
            "graph");
    require(!shards.empty(), "a curvature operator needs at least one parameter");
    for (const auto& [name, shard] : shards) {
      shards_.push_back(shard.detach());
      size_ += shard.numel();
    }
    const auto first = gradient_();
    hold(first.loss);
    require(added_up(first.gradient.numel() == size_ ? 0 : 1, group_) == 0,
            "the gradient does not fit the shards");
    const double roundoff =
        gathered(std::max(roundoff_of(shards_), graph_roundoff({first.loss})), group_).maxCoeff();
    if (options.check_determinism) hold(gradient_().loss);
    difference_along(first.gradient.to(vectors()), roundoff);
  }

  [[nodiscard]] int64_t size() const override { return size_; }
  [[nodiscard]] at::TensorOptions vectors() const override { return vectors_of(shards_); }
  [[nodiscard]] double product_noise() const override { return difference_->noise(); }
  [[nodiscard]] ProductKind product_kind() const override { return ProductKind::kFiniteDifference; }
  [[nodiscard]] std::string product_reason() const override { return "sharded parameters"; }
  [[nodiscard]] tensor::Group* shared_with() const override { return group_; }
  [[nodiscard]] at::Tensor apply(const at::Tensor& v) const override {
    return difference_->along(v.detach().to(vectors())).to(vectors());
  }

 private:
  /// A loss that must be finite in each process, and the one of the last time.
  void hold(const at::Tensor& loss) {
    const double value = loss.detach().sum(torch::kDouble).item<double>();
    require(added_up(std::isfinite(value) ? 0 : 1, group_) == 0,
            "the loss is not finite in every process: no curvature at this point");
    const double before = seen_.value_or(value);
    seen_ = value;
    require(added_up(before == value ? 0 : 1, group_) == 0,
            "the loss is not deterministic in every process (here two evaluations gave {:.9g} and "
            "{:.9g}): switch dropout off or freeze its masks, and use a fixed batch",
            before,
            value);
  }

  /// Along the gradient, which lies close to the directions of most curvature, and a random one.
  void difference_along(const at::Tensor& slope, double roundoff) {
    const auto seed = static_cast<std::uint64_t>(group_ == nullptr ? 0 : group_->rank());
    std::vector<at::Tensor> directions = {
        tensor::from_vector(linalg::Random(seed).normal_vector(size_)).to(vectors())};
    const auto nonzero = static_cast<double>(slope.count_nonzero().item<int64_t>());
    if (added_up(nonzero, group_) > 0) directions.push_back(slope);
    difference_.emplace(
        shards_, [this] { return gradient_().gradient; }, roundoff, directions, group_);
  }

  std::function<ShardedGradient()> gradient_;
  tensor::Group* group_;
  std::vector<at::Tensor> shards_;
  int64_t size_ = 0;
  std::optional<double> seen_;  // the last loss
  std::optional<CentralDifference> difference_;
};

}  // namespace

std::unique_ptr<CurvatureOperator> sharded_hessian(std::function<ShardedGradient()> gradient,
                                                   const NamedParameters& shards,
                                                   tensor::Group* group,
                                                   const OperatorOptions& options) {
  return std::make_unique<ShardedHessian>(std::move(gradient), shards, group, options);
}

}  // namespace kappascope::curvature
