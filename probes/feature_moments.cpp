// SPDX-License-Identifier: Apache-2.0
#include "kappascope/probes/feature_moments.h"

#include <torch/serialize/archive.h>
#include <torch/types.h>

#include <cstdint>
#include <utility>

#include "kappascope/linalg/features/kappa.h"
#include "kappascope/linalg/features/wide.h"
#include "kappascope/probes/scalars.h"
#include "kappascope/tensor/convert.h"
#include "probes/layer_archive.h"

namespace kappascope::probes {
namespace {

void add_kappa(store::Snapshot& out,
               const std::string& name,
               const std::string& layer,
               const linalg::KappaEstimate& kappa,
               std::int64_t rows) {
  store::Scalar scalar;
  scalar.name = name;
  scalar.layer = layer;
  scalar.value = kappa.value;
  scalar.lower = kappa.lower;
  scalar.upper = kappa.upper;
  scalar.n = static_cast<double>(rows);
  scalar.n_effective = kappa.n_effective;
  scalar.status = linalg::to_string(kappa.resolution);
  out.scalars.push_back(scalar);
}

// From here on one factor and Lanczos are faster than a decomposition and the eigenvalues of three
// scaled matrices (benchmarks/README.md).
constexpr Eigen::Index kWide = 1024;

linalg::Conditioning conditioning_of(linalg::Moments moments, const Eigen::VectorXd& bias) {
  if (moments.mean.size() >= kWide) {
    linalg::WideOptions options;
    options.factor.cholesky = tensor::cholesky;
    return linalg::wide_conditioning(std::move(moments), bias, options);
  }
  linalg::KappaOptions options;
  options.eigenvalues = tensor::symmetric_eigenvalues;
  // LAPACK refuses what is not finite; the host's own way has a named outcome for it.
  if (moments.n < 2 || !moments.covariance.allFinite()) return linalg::conditioning(moments, bias);
  const auto eigen = tensor::symmetric_eigen(moments.covariance);
  return linalg::conditioning(moments, bias, options, &eigen);
}

void add_effective_rank(store::Snapshot& out,
                        const std::string& layer,
                        const linalg::Conditioning& c) {
  const double rank = c.effective_rank, error = c.effective_rank_error;
  if (error > 0) {
    add_scalar(out, "features/effective_rank", layer, rank, rank - error, rank + error);
  } else {
    add_scalar(out, "features/effective_rank", layer, rank);
  }
}

}  // namespace

void FeatureMoments::observe(const train::StepView& view) {
  for (const auto& layer : *view.layers) {
    auto found = layers_.find(layer.name);
    if (found == layers_.end()) {
      Layer fresh{tensor::MomentAccumulator(layer.features.size(1), options_)};
      found = layers_.emplace(layer.name, std::move(fresh)).first;
    }
    found->second.moments.update(layer.features, {}, layer.rows_per_group);
    found->second.cosine.update(layer.features);
    found->second.bias = layer.bias.defined() ? layer.bias.clone() : at::Tensor();
  }
}

void FeatureMoments::emit(store::Snapshot& out) {
  // A layer's sums go before the next layer needs room.
  for (; !layers_.empty(); layers_.erase(layers_.begin())) {
    const auto& [name, layer] = *layers_.begin();
    auto moments = layer.moments.result();
    const auto rows = moments.n, nonfinite_rows = moments.nonfinite_rows;
    const auto bias = layer.bias.defined() ? tensor::to_vector(layer.bias) : Eigen::VectorXd();
    const auto c = conditioning_of(std::move(moments), bias);
    add_kappa(out, "kappa/sigma", name, c.sigma, rows);
    add_kappa(out, "kappa/second_moment", name, c.second_moment, rows);
    add_kappa(out, "kappa/with_bias", name, c.with_bias, rows);
    add_kappa(out, "kappa/sigma_scaled", name, c.sigma_scaled, rows);
    add_kappa(out, "kappa/second_moment_scaled", name, c.second_moment_scaled, rows);
    add_kappa(out, "kappa/with_bias_scaled", name, c.with_bias_scaled, rows);
    add_scalar(out, "kappa/sigma_shrunk", name, c.sigma.shrunk);
    add_effective_rank(out, name, c);
    add_scalar(out, "features/stable_rank", name, c.stable_rank);
    add_scalar(out, "features/isotropy", name, c.isotropy);
    add_scalar(out, "features/mean_cosine", name, layer.cosine.result());
    add_scalar(out, "features/mean_leverage", name, c.mean_leverage);
    add_scalar(out, "features/variance_along_mean", name, c.variance_along_mean);
    add_scalar(out, "features/average_variance", name, c.average_variance);
    add_scalar(out, "features/constant", name, static_cast<double>(c.constant_features));
    add_scalar(out, "features/dead", name, static_cast<double>(c.dead_features));
    add_scalar(out, "features/nonfinite_rows", name, static_cast<double>(nonfinite_rows));
    add_scalar(out, "features/products", name, c.products);
    out.scalars.back().status = linalg::to_string(c.route);
  }
}

void FeatureMoments::save(torch::serialize::OutputArchive& archive) const {
  save_layers(archive, layers_, [](auto& inner, const Layer& layer) {
    torch::serialize::OutputArchive moments;
    layer.moments.save(moments);
    inner.write("moments", moments);
    torch::serialize::OutputArchive cosine;
    layer.cosine.save(cosine);
    inner.write("cosine", cosine);
    inner.write("dimension", torch::tensor(layer.moments.dimension()));
    if (layer.bias.defined()) inner.write("bias", layer.bias);
  });
}

void FeatureMoments::load(torch::serialize::InputArchive& archive) {
  load_layers(archive, layers_, [this](auto& inner) {
    Layer layer{tensor::MomentAccumulator(read_tensor(inner, "dimension").template item<int64_t>(),
                                          options_)};
    torch::serialize::InputArchive moments, cosine;
    inner.read("moments", moments);
    layer.moments.load(moments);
    inner.read("cosine", cosine);
    layer.cosine.load(cosine);
    inner.try_read("bias", layer.bias);
    return layer;
  });
}

}  // namespace kappascope::probes
