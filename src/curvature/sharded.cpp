// SPDX-License-Identifier: Apache-2.0
#include "curvature/sharded.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "core/require.h"
#include "curvature/gathered.h"
#include "curvature/products/central_difference.h"
#include "curvature/products/evaluation.h"
#include "curvature/products/response.h"
#include "kappascope/linalg/random.h"
#include "tensor/convert.h"

namespace kappascope::curvature {
namespace {

class ShardedHessian final : public CurvatureOperator {
 public:
  ShardedHessian(std::function<ShardedGradient()> gradient,
                 const NamedParameters& shards,
                 tensor::Group* group,
                 const OperatorOptions& options)
      : gradient_(std::move(gradient)), before_(options.before_evaluation), group_(group) {
    const Undisturbed undisturbed;
    require(options.product == ProductKind::kAutomatic ||
                options.product == ProductKind::kFiniteDifference,
            "sharded parameters have products by finite differences alone: their gradient has no "
            "graph");
    require(!shards.empty(), "a curvature operator needs at least one parameter");
    for (const auto& [name, shard] : shards) {
      shards_.push_back(shard.detach());
      size_ += shard.numel();
    }
    const auto first = evaluate();
    require(added_up(std::isfinite(value_of(first)) ? 0 : 1, group_) == 0,
            "the loss is not finite in every process: no curvature at this point");
    require(added_up(first.gradient.numel() == size_ ? 0 : 1, group_) == 0,
            "the gradient does not fit the shards");
    const double roundoff =
        gathered(std::max(roundoff_of(shards_), graph_roundoff({first.loss})), group_).maxCoeff();
    slope_ = first.gradient.to(vectors());
    if (options.check_determinism) compare(first, evaluate(), kProductRoundoffs * roundoff);
    require_response({.parameters = shards,
                      .slope = slope_,
                      .value = [this] { return gathered(value_of(evaluate()), group_).mean(); },
                      .value_roundoff = roundoff_of({first.loss}),
                      .roundoff = roundoff,
                      .group = group_});
    difference_along(slope_, roundoff);
  }

  [[nodiscard]] int64_t size() const override { return size_; }
  [[nodiscard]] at::TensorOptions vectors() const override { return vectors_of(shards_); }
  [[nodiscard]] double product_noise() const override { return difference_->noise(); }
  [[nodiscard]] ProductKind product_kind() const override { return ProductKind::kFiniteDifference; }
  [[nodiscard]] std::string product_reason() const override { return "sharded parameters"; }
  [[nodiscard]] tensor::Group* shared_with() const override { return group_; }
  [[nodiscard]] at::Tensor gradient() const override { return slope_; }
  [[nodiscard]] at::Tensor apply(const at::Tensor& v) const override {
    return difference_->along(v.detach().to(vectors())).to(vectors());
  }

 private:
  [[nodiscard]] ShardedGradient evaluate() const {
    if (before_) together(before_);
    const Undisturbed undisturbed;
    return gradient_();
  }

  /// Where it throws in one process, none goes on.
  void together(const std::function<void()>& work) const {
    std::exception_ptr failed;
    try {
      work();
    } catch (...) {
      failed = std::current_exception();
    }
    const double count = added_up(failed ? 1 : 0, group_);
    if (failed) std::rethrow_exception(failed);
    require(count == 0, "{} of the processes ended this", count);
  }

  static double value_of(const ShardedGradient& at) {
    return at.loss.detach().sum(torch::kDouble).item<double>();
  }

  /// Two evaluations, which may differ by this share of them.
  void compare(const ShardedGradient& one, const ShardedGradient& other, double share) const {
    const double before = value_of(one), now = value_of(other);
    const double apart = std::sqrt(added_up(squared_length(other.gradient - one.gradient), group_));
    const double length = std::sqrt(added_up(squared_length(one.gradient), group_));
    const bool within = before == now || (std::abs(now - before) <= share * std::abs(before) &&
                                          apart <= share * length);
    require(added_up(within ? 0 : 1, group_) == 0,
            "the loss is not deterministic in every process (here two evaluations gave {:.9g} and "
            "{:.9g}): switch dropout off or freeze its masks, and use a fixed batch",
            before,
            now);
  }

  /// Along the gradient, which lies close to the directions of most curvature, and a random one.
  void difference_along(const at::Tensor& slope, double roundoff) {
    const auto seed = static_cast<std::uint64_t>(group_ == nullptr ? 0 : group_->rank());
    std::vector<at::Tensor> directions = {
        tensor::from_vector(linalg::Random(seed).normal_vector(size_)).to(vectors())};
    const auto nonzero = static_cast<double>(slope.count_nonzero().item<int64_t>());
    if (added_up(nonzero, group_) > 0) directions.push_back(slope);
    difference_.emplace(
        shards_, [this] { return evaluate().gradient; }, roundoff, directions, group_);
  }

  std::function<ShardedGradient()> gradient_;
  std::function<void()> before_;
  tensor::Group* group_;
  std::vector<at::Tensor> shards_;
  int64_t size_ = 0;
  at::Tensor slope_;  // [size]
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
