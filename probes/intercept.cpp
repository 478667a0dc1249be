// SPDX-License-Identifier: Apache-2.0
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <limits>
#include <memory>

#include "kappascope/core/statistics.h"
#include "probes/layer_probes.h"
#include "probes/layer_windows.h"
#include "probes/scalars.h"
#include "tensor/convert.h"

namespace kappascope::probes {
namespace {

namespace id = store::id;

void add(store::Snapshot& out,
         store::SeriesId name,
         const std::string& layer,
         double value,
         double error) {
  if (std::isnan(value)) {
    add_scalar(out, name, layer, value);
    out.scalars.back().status = store::Status::kUndefined;
  } else {
    const double reach = normal_quantile(0.975) * error;
    add_scalar(out, name, layer, value, value - reach, value + reach);
  }
}

struct InterceptLayer {
  int64_t rows = 0;
  int64_t groups = 0;          // sequences, or rows where rows are independent
  at::Tensor sum{};            // [d_ff] double: Σ(φ-s)
  at::Tensor shift{}, bias{};  // [d_ff] double
  // The gradients of both quantities with respect to μ lie in the span of b and μ, so the error
  // of μ is needed along these two only: over groups, Σ q and Σ q qᵀ with q the group's sum of
  // ((φ-s)·b, (φ-s)·s).
  at::Tensor projected{}, cross{};  // [2], [2, 2] double
  at::Tensor spread{};              // [2, 2] of that sum over several processes

  InterceptLayer() = default;
  explicit InterceptLayer(const tensor::State& state)
      : rows(state.integer("rows")),
        groups(state.integer("groups")),
        sum(state.tensor("sum", torch::kDouble, {-1}).clone()),
        shift(state.tensor("shift", torch::kDouble, {sum.size(0)})),
        bias(state.tensor("bias", torch::kDouble, {sum.size(0)})),
        projected(state.tensor("projected", torch::kDouble, {2}).clone()),
        cross(state.tensor("cross", torch::kDouble, {2, 2}).clone()) {}

  [[nodiscard]] tensor::State state() const {
    tensor::State out;
    out.set("rows", rows);
    out.set("groups", groups);
    out.set("sum", sum);
    out.set("shift", shift);
    out.set("bias", bias);
    out.set("projected", projected);
    out.set("cross", cross);
    return out;
  }

  // Of the sum over groups, from the spread of theirs.
  [[nodiscard]] at::Tensor spread_of_sum() const {
    if (spread.defined()) return spread;
    const auto n = static_cast<double>(groups);
    return (cross - projected.outer(projected) / n) * (n / (n - 1));
  }

  void merge(const InterceptLayer& other) {
    // About the shift of this sum; the spread is that of each process about its own mean.
    const auto here = [&](const at::Tensor& values) { return values.to(sum.device()); };
    spread = spread_of_sum() + here(other.spread_of_sum());
    sum += here(other.sum) + static_cast<double>(other.rows) * (here(other.shift) - shift);
    rows += other.rows;
    groups += other.groups;
  }

  void write(const std::string& name, store::Snapshot& out) const {
    constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
    const auto n = static_cast<double>(rows);
    const Eigen::VectorXd mu = tensor::to_vector(shift) + tensor::to_vector(sum) / n;
    const Eigen::VectorXd b = tensor::to_vector(bias);
    // Covariance of (b·μ̂, μ·μ̂).
    const Eigen::Matrix2d covariance = tensor::to_matrix(spread_of_sum()) / (n * n);
    const double mu_norm = mu.norm(), b_norm = b.norm(), rest = (mu + b).norm();
    const double cosine = mu_norm > 0 && b_norm > 0 ? -b.dot(mu) / (b_norm * mu_norm) : kNaN;
    const double residual = mu_norm > 0 ? rest / mu_norm : kNaN;
    // A gradient αb + βμ with respect to μ.
    const auto error_of = [&](double alpha, double beta) {
      const Eigen::Vector2d gradient(alpha, beta);
      return std::sqrt(std::max(0.0, gradient.dot(covariance * gradient)));
    };
    const double slope = rest > 0 ? 1 / (rest * mu_norm) : 0;
    add(out,
        id::kBiasCos,
        name,
        cosine,
        error_of(-1 / (b_norm * mu_norm), -cosine / (mu_norm * mu_norm)));
    add(out,
        id::kBiasResidual,
        name,
        residual,
        error_of(slope, slope - residual / (mu_norm * mu_norm)));
    add_scalar(out, id::kBiasNorm, name, b_norm);
    if (!std::isfinite(mu_norm)) {
      // A NaN feature, not an undefined ratio.
      for (auto* scalar = &out.scalars.back() - 2; scalar != &out.scalars.back(); ++scalar) {
        scalar->status = store::Status::kNonFinite;
      }
    }
  }
};

/// Intercept absorption: how far training has used the post-gating bias b to cancel the mean μ of
/// the features. Writes per layer with a bias: bias/cos = cos(b, -μ), bias/residual = ‖μ+b‖/‖μ‖
/// (1 when b = 0, 0 when b = -μ), bias/norm = ‖b‖. NaN, with status "undefined", where b or μ is
/// zero. The 95 % interval carries the sampling error of μ, to first order; tokens of one sequence
/// count as dependent. Cost: two sums over the features a step.
class Intercept final : public LayerWindows<InterceptLayer> {
 public:
  [[nodiscard]] std::string_view name() const override { return "intercept"; }
  [[nodiscard]] session::Needs needs() const override { return {.features = true}; }
  [[nodiscard]] double presumed_cost() const override { return 0; }

 private:
  void add_pass(int64_t /*step*/, const session::LayerView& seen) override {
    if (!seen.bias.defined()) return;
    const torch::NoGradGuard no_grad;
    const auto phi = seen.features.to(torch::kDouble);
    const auto mask = seen.mask.defined()
                          ? seen.mask
                          : torch::ones({phi.size(0)}, phi.options().dtype(torch::kBool));
    const auto rows = mask.sum().item<int64_t>();
    if (rows == 0) return;
    auto& layer = layers().try_emplace(seen.name).first->second;
    layer.bias = seen.bias.to(torch::kDouble).clone();
    if (!layer.sum.defined()) {
      layer.shift = phi.index({mask}).mean(0);
      layer.sum = torch::zeros_like(layer.shift);
      layer.projected = torch::zeros({2}, layer.shift.options());
      layer.cross = torch::zeros({2, 2}, layer.shift.options());
    }
    for (auto* read : {&layer.shift, &layer.sum, &layer.projected, &layer.cross})
      *read = read->to(phi.device());  // those of a state that was read lie on the host
    const auto centred = (phi - layer.shift).masked_fill(~mask.unsqueeze(1), 0);
    layer.rows += rows;
    layer.sum.add_(centred.sum(0));
    const auto q = centred.matmul(torch::stack({layer.bias, layer.shift}, 1))
                       .view({-1, seen.rows_per_group, 2})
                       .sum(1);
    layer.groups += mask.view({-1, seen.rows_per_group}).any(1).sum().item<int64_t>();
    layer.projected.add_(q.sum(0));
    layer.cross.add_(q.t().matmul(q));
  }
};

}  // namespace

std::unique_ptr<session::Probe> make_intercept(const ProbeOptions& /*options*/) {
  return std::make_unique<Intercept>();
}

}  // namespace kappascope::probes
