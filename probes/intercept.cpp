// SPDX-License-Identifier: Apache-2.0
#include "kappascope/probes/intercept.h"

#include <torch/torch.h>

#include <cmath>
#include <limits>

#include "kappascope/probes/scalars.h"
#include "kappascope/tensor/convert.h"
#include "probes/layer_archive.h"

namespace kappascope::probes {
namespace {

constexpr double kNormal95 = 1.959964;

void add(
    store::Snapshot& out, const char* name, const std::string& layer, double value, double error) {
  if (std::isnan(value)) {
    add_scalar(out, name, layer, value);
    out.scalars.back().status = "undefined";
  } else {
    add_scalar(out, name, layer, value, value - kNormal95 * error, value + kNormal95 * error);
  }
}

}  // namespace

void Intercept::observe(const train::StepView& view) {
  torch::NoGradGuard no_grad;
  for (const auto& seen : *view.layers) {
    if (!seen.bias.defined()) continue;
    auto& layer = layers_[seen.name];
    const auto phi = seen.features.to(torch::kDouble);
    if (!layer.sum.defined()) {
      layer.shift = phi.mean(0);
      layer.sum = torch::zeros_like(layer.shift);
      layer.squares = torch::zeros_like(layer.shift);
    }
    const auto centred = phi - layer.shift;
    layer.rows += phi.size(0);
    layer.sum.add_(centred.sum(0));
    layer.squares.add_(centred.square().sum(0));
    layer.bias = seen.bias.to(torch::kDouble).clone();
  }
}

void Intercept::emit(store::Snapshot& out) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [name, layer] : layers_) {
    const auto n = static_cast<double>(layer.rows);
    const Eigen::VectorXd offset = tensor::to_vector(layer.sum) / n;
    const Eigen::VectorXd mu = tensor::to_vector(layer.shift) + offset;
    const Eigen::VectorXd variance =
        (tensor::to_vector(layer.squares) / n - offset.cwiseAbs2()) / n;  // of each entry of mu
    const Eigen::VectorXd b = tensor::to_vector(layer.bias);
    const double mu_norm = mu.norm(), b_norm = b.norm();
    const double cosine = mu_norm > 0 && b_norm > 0 ? -b.dot(mu) / (b_norm * mu_norm) : kNaN;
    const double residual = mu_norm > 0 ? (mu + b).norm() / mu_norm : kNaN;
    // First order in the error of mu: the gradients of both functions with respect to mu.
    const auto error_of = [&](const Eigen::VectorXd& gradient) {
      return std::sqrt(std::max(0.0, gradient.cwiseAbs2().dot(variance)));
    };
    const Eigen::VectorXd cosine_gradient =
        -b / (b_norm * mu_norm) - cosine * mu / (mu_norm * mu_norm);
    const double rest = (mu + b).norm();
    Eigen::VectorXd residual_gradient = -residual * mu / (mu_norm * mu_norm);
    if (rest > 0) residual_gradient += (mu + b) / (rest * mu_norm);
    add(out, "bias/cos", name, cosine, error_of(cosine_gradient));
    add(out, "bias/residual", name, residual, error_of(residual_gradient));
    add_scalar(out, "bias/norm", name, b_norm);
  }
  layers_.clear();
}

void Intercept::save(torch::serialize::OutputArchive& archive) const {
  save_layers(archive, layers_, [](auto& inner, const Layer& layer) {
    inner.write("rows", torch::tensor(layer.rows));
    inner.write("vectors", torch::stack({layer.sum, layer.squares, layer.shift, layer.bias}));
  });
}

void Intercept::load(torch::serialize::InputArchive& archive) {
  load_layers(archive, layers_, [](auto& inner) {
    const auto vectors = read_tensor(inner, "vectors");
    return Layer{read_tensor(inner, "rows").template item<int64_t>(),
                 vectors[0].clone(),
                 vectors[1].clone(),
                 vectors[2].clone(),
                 vectors[3].clone()};
  });
}

}  // namespace kappascope::probes
