// SPDX-License-Identifier: Apache-2.0
#include "probes/intercept.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <limits>

#include "kappascope/core/statistics.h"
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

}  // namespace

void Intercept::observe(const session::StepView& view) {
  const torch::NoGradGuard no_grad;
  for (const auto& seen : *view.layers) {
    if (seen.bias.defined()) observe_layer(layers_, failures_, seen.name, [&] { add_pass(seen); });
  }
}

void Intercept::add_pass(const session::LayerView& seen) {
  const auto phi = seen.features.to(torch::kDouble);
  const auto mask = seen.mask.defined()
                        ? seen.mask
                        : torch::ones({phi.size(0)}, phi.options().dtype(torch::kBool));
  const auto rows = mask.sum().item<int64_t>();
  if (rows == 0) return;
  auto& layer = layers_[seen.name];
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

// Of the sum over groups, from the spread of theirs.
at::Tensor Intercept::spread_of(const Layer& layer) {
  if (layer.spread.defined()) return layer.spread;
  const auto groups = static_cast<double>(layer.groups);
  return (layer.cross - layer.projected.outer(layer.projected) / groups) * (groups / (groups - 1));
}

void Intercept::emit(store::Snapshot& out) {
  emit_layers(layers_, failures_, name(), out, write);
}

void Intercept::write(const std::string& name, const Layer& layer, store::Snapshot& out) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const auto n = static_cast<double>(layer.rows);
  const Eigen::VectorXd mu = tensor::to_vector(layer.shift) + tensor::to_vector(layer.sum) / n;
  const Eigen::VectorXd b = tensor::to_vector(layer.bias);
  // Covariance of (b·μ̂, μ·μ̂).
  const Eigen::Matrix2d spread = tensor::to_matrix(spread_of(layer)) / (n * n);
  const double mu_norm = mu.norm(), b_norm = b.norm(), rest = (mu + b).norm();
  const double cosine = mu_norm > 0 && b_norm > 0 ? -b.dot(mu) / (b_norm * mu_norm) : kNaN;
  const double residual = mu_norm > 0 ? rest / mu_norm : kNaN;
  // A gradient αb + βμ with respect to μ.
  const auto error_of = [&](double alpha, double beta) {
    const Eigen::Vector2d gradient(alpha, beta);
    return std::sqrt(std::max(0.0, gradient.dot(spread * gradient)));
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

void Intercept::emit_with(tensor::Group& group, double /*seconds*/, store::Snapshot& out) {
  share_layers(group, layers_, failures_, state_of, layer_of, [](Layer& sum, const Layer& layer) {
    // About the shift of the sum; the spread is that of each process about its own mean.
    const auto to_sum = [&](const at::Tensor& values) { return values.to(sum.sum.device()); };
    sum.spread = spread_of(sum) + to_sum(spread_of(layer));
    sum.sum +=
        to_sum(layer.sum) + static_cast<double>(layer.rows) * (to_sum(layer.shift) - sum.shift);
    sum.rows += layer.rows;
    sum.groups += layer.groups;
  });
  emit(out);
}

tensor::State Intercept::state_of(const Layer& layer) {
  tensor::State out;
  out.set("rows", layer.rows);
  out.set("groups", layer.groups);
  out.set("sum", layer.sum);
  out.set("shift", layer.shift);
  out.set("bias", layer.bias);
  out.set("projected", layer.projected);
  out.set("cross", layer.cross);
  return out;
}

Intercept::Layer Intercept::layer_of(const tensor::State& inner) {
  Layer layer;
  layer.rows = inner.integer("rows");
  layer.groups = inner.integer("groups");
  layer.sum = inner.tensor("sum", torch::kDouble, {-1}).clone();
  const auto width = layer.sum.size(0);
  layer.shift = inner.tensor("shift", torch::kDouble, {width});
  layer.bias = inner.tensor("bias", torch::kDouble, {width});
  layer.projected = inner.tensor("projected", torch::kDouble, {2}).clone();
  layer.cross = inner.tensor("cross", torch::kDouble, {2, 2}).clone();
  return layer;
}

tensor::State Intercept::state() const {
  return layer_states(layers_, state_of);
}

void Intercept::load(const tensor::State& state) {
  failures_ = {};
  load_layers(state, layers_, layer_of);
}

}  // namespace kappascope::probes
