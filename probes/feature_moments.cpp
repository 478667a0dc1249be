// SPDX-License-Identifier: Apache-2.0
#include "probes/feature_moments.h"

#include <c10/util/BFloat16.h>
#include <torch/types.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "core/require.h"
#include "kappascope/tensor/kappa.h"
#include "linalg/features/isotropy.h"
#include "probes/layer_windows.h"
#include "probes/scalars.h"
#include "tensor/convert.h"

namespace kappascope::probes {
namespace {

namespace id = store::id;

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
  scalar.status = stored_status(kappa.resolution);
  out.scalars.push_back(scalar);
}

void add_shape(store::Snapshot& out,
               const std::string& name,
               const std::string& layer,
               const linalg::SpectralEstimate& found) {
  add_scalar(out, name, layer, found.value, found.lower, found.upper);
  out.scalars.back().status = stored_status(found.resolution);
}

/// Of these rows: means, covariances and kept ones of other features of them.
linalg::SpectralEstimate isotropy_of(const linalg::Moments& rows,
                                     Eigen::VectorXd mean,
                                     Eigen::MatrixXd covariance,
                                     linalg::RowMatrixF sample) {
  linalg::Moments moments;
  moments.n = rows.n;
  moments.n_effective = rows.n_effective;
  moments.mean = std::move(mean);
  moments.covariance = std::move(covariance);
  moments.sample = std::move(sample);
  return linalg::isotropy(moments);
}

/// Largest over smallest singular value; NaN for a matrix that is not finite.
double condition_number(const at::Tensor& matrix) {
  if (!matrix.isfinite().all().item<bool>()) return std::numeric_limits<double>::quiet_NaN();
  const auto singular = at::linalg_svdvals(matrix.to(torch::kDouble));
  return (singular[0] / singular[-1]).item<double>();
}

/// What the moments say of the parts of a layer, before its spectrum is made from them.
void add_parts(store::Snapshot& out,
               const std::string& layer,
               const linalg::Moments& moments,
               const at::Tensor& weight,
               int64_t branch) {
  add_scalar(out, id::kMeanSquared, layer, moments.mean.squaredNorm());
  if (branch > 0)
    add_shape(out,
              id::kBranchIsotropy,
              layer,
              isotropy_of(moments,
                          moments.mean.tail(branch),
                          moments.covariance.bottomRightCorner(branch, branch),
                          moments.sample.rightCols(branch)));
  if (!weight.defined()) return;
  add_scalar(out, id::kWeightKappa, layer, condition_number(weight));
  const auto down = tensor::to_matrix(weight);
  add_shape(out,
            id::kOutputIsotropy,
            layer,
            isotropy_of(moments,
                        down * moments.mean,
                        down * moments.covariance * down.transpose(),
                        moments.sample * down.transpose().cast<float>()));
}

/// Features whose largest magnitude bfloat16 cannot hold: it would become infinite, or lose its
/// precision as a subnormal number (or all of it, where these are flushed to zero).
std::int64_t outside_bfloat16(const at::Tensor& largest) {
  using Limits = std::numeric_limits<c10::BFloat16>;
  const auto too_large = largest > static_cast<double>(Limits::max());
  const auto too_small = (largest > 0).logical_and(largest < static_cast<double>(Limits::min()));
  return too_large.logical_or(too_small).sum().item<std::int64_t>();
}

}  // namespace

void FeatureMoments::observe(const session::StepView& view) {
  for (const auto& layer : *view.layers)
    observe_layer(layers_, failures_, layer.name, [&] { add_pass(layer); });
}

void FeatureMoments::add_pass(const session::LayerView& view) {
  auto found = layers_.find(view.name);
  if (found == layers_.end()) {
    Layer fresh{tensor::MomentAccumulator(view.features.size(1), options_)};
    found = layers_.emplace(view.name, std::move(fresh)).first;
  }
  auto& layer = found->second;
  layer.moments.update(view.features, view.mask, view.rows_per_group);
  const auto rows = view.mask.defined() ? view.features.index({view.mask}) : view.features;
  layer.cosine.update(rows);
  layer.branch = view.branch;
  if (view.branch > 0)
    layer.branch_cosine.update(rows.narrow(1, rows.size(1) - view.branch, view.branch));
  if (rows.size(0) > 0) {
    const torch::NoGradGuard no_grad;
    auto& largest = layer.largest;
    largest = larger(largest, torch::maximum(rows.amax(0), -rows.amin(0)).to(torch::kDouble));
  }
  layer.bias = view.bias.defined() ? view.bias.clone() : at::Tensor();
  if (outputs_) layer.weight = view.weight;
}

void FeatureMoments::emit(store::Snapshot& out) {
  emit_layers(layers_, failures_, name(), out, write);
}

void FeatureMoments::write(const std::string& name, Layer& layer, store::Snapshot& out) {
  auto moments = layer.moments.result();
  const auto rows = moments.n, nonfinite_rows = moments.nonfinite_rows;
  add_parts(out, name, moments, layer.weight, layer.branch);
  const auto c = tensor::kappa(std::move(moments), layer.bias);
  add_kappa(out, id::kKappaSigma, name, c.sigma, rows);
  add_kappa(out, id::kKappaSecondMoment, name, c.second_moment, rows);
  add_kappa(out, id::kKappaWithBias, name, c.with_bias, rows);
  add_kappa(out, id::kKappaSigmaScaled, name, c.sigma_scaled, rows);
  add_kappa(out, id::kKappaSecondMomentScaled, name, c.second_moment_scaled, rows);
  add_kappa(out, id::kKappaWithBiasScaled, name, c.with_bias_scaled, rows);
  add_ratio(out, id::kKappaMeanCosts, name, c.mean_costs);
  add_ratio(out, id::kKappaBiasLeaves, name, c.bias_leaves);
  add_scalar(out, id::kKappaSigmaShrunk, name, c.sigma.shrunk);
  add_scalar(out, id::kKappaSecondMomentShrunk, name, c.second_moment.shrunk);
  add_scalar(out, id::kKappaWithBiasShrunk, name, c.with_bias.shrunk);
  add_shape(out, id::kEffectiveRank, name, c.effective_rank);
  add_shape(out, id::kStableRank, name, c.stable_rank);
  add_shape(out, id::kIsotropy, name, c.isotropy);
  add_scalar(out, id::kMeanCosine, name, layer.cosine.result());
  if (layer.branch > 0) add_scalar(out, id::kBranchMeanCosine, name, layer.branch_cosine.result());
  add_scalar(out, id::kMeanLeverage, name, c.mean_leverage);
  add_scalar(out, id::kLargestVariance, name, c.sigma.lambda_max);
  add_scalar(out, id::kVarianceAlongMean, name, c.variance_along_mean);
  add_scalar(out, id::kAverageVariance, name, c.average_variance);
  add_scalar(out, id::kConstantFeatures, name, static_cast<double>(c.constant_features));
  add_scalar(out, id::kNonfiniteRows, name, static_cast<double>(nonfinite_rows));
  if (layer.largest.defined()) {
    add_scalar(
        out, id::kOutsideBfloat16, name, static_cast<double>(outside_bfloat16(layer.largest)));
  }
  add_scalar(out, id::kFeatureProducts, name, c.products);
  out.scalars.back().attributes[store::attribute::kRoute] = linalg::to_string(c.route);
}

void FeatureMoments::emit_with(tensor::Group& group, double /*seconds*/, store::Snapshot& out) {
  share_layers(
      group,
      layers_,
      failures_,
      state_of,
      [this](const tensor::State& state) { return layer_of(state); },
      [](Layer& sum, const Layer& layer) {
        sum.moments.merge(layer.moments);
        sum.cosine.merge(layer.cosine);
        sum.branch_cosine.merge(layer.branch_cosine);
        if (layer.largest.defined()) sum.largest = larger(sum.largest, layer.largest);
      });
  emit(out);
}

tensor::State FeatureMoments::state_of(const Layer& layer) {
  tensor::State out;
  out.set("moments", layer.moments.state());
  out.set("cosine", layer.cosine.state());
  if (layer.branch > 0) {
    out.set("branch", layer.branch);
    out.set("branch_cosine", layer.branch_cosine.state());
  }
  if (layer.bias.defined()) out.set("bias", layer.bias);
  if (layer.largest.defined()) out.set("largest", layer.largest);
  return out;
}

FeatureMoments::Layer FeatureMoments::layer_of(const tensor::State& state) const {
  // The sums say the width: a number alone would take any amount of memory.
  const auto dimension = state.inner("moments").tensor("sum", torch::kDouble, {-1}).size(0);
  Layer layer{tensor::MomentAccumulator(dimension, options_)};
  layer.moments.load(state.inner("moments"));
  layer.cosine.load(state.inner("cosine"));
  if (state.has("branch")) {
    layer.branch = state.integer("branch");
    require(0 < layer.branch && layer.branch <= dimension,
            "of {} features {} cannot be a branch's",
            dimension,
            layer.branch);
    layer.branch_cosine.load(state.inner("branch_cosine"));
  }
  if (state.has("bias")) layer.bias = state.floating_tensor("bias", {dimension});
  if (state.has("largest")) layer.largest = state.tensor("largest", torch::kDouble, {dimension});
  return layer;
}

tensor::State FeatureMoments::state() const {
  return layer_states(layers_, state_of);
}

void FeatureMoments::load(const tensor::State& state) {
  failures_ = {};
  load_layers(state, layers_, [this](const tensor::State& inner) { return layer_of(inner); });
}

}  // namespace kappascope::probes
