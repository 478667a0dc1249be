// SPDX-License-Identifier: Apache-2.0
#include <c10/util/BFloat16.h>
#include <torch/types.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "core/require.h"
#include "kappascope/linalg/features/moments.h"
#include "kappascope/tensor/kappa.h"
#include "kappascope/tensor/moments.h"
#include "linalg/features/isotropy.h"
#include "probes/layer_probes.h"
#include "probes/layer_windows.h"
#include "probes/scalars.h"
#include "tensor/convert.h"
#include "tensor/mean_cosine.h"

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

struct MomentLayer {
  tensor::MomentAccumulator sums;
  tensor::MeanCosine cosine{};
  tensor::MeanCosine branch_cosine{};  // of the last `branch` features
  at::Tensor bias{};                   // of the latest step; undefined without post-gating bias
  at::Tensor weight{};                 // likewise, the model's own; undefined where nobody gave it
  int64_t branch = 0;
  at::Tensor largest{};  // [d_ff] magnitude of each feature so far

  MomentLayer(int64_t features, const linalg::MomentOptions& options) : sums(features, options) {}
  explicit MomentLayer(const tensor::State& state, const linalg::MomentOptions& options = {})
      // The sums say the width: a number alone would take any amount of memory.
      : MomentLayer(state.inner("moments").tensor("sum", torch::kDouble, {-1}).size(0), options) {
    sums.load(state.inner("moments"));
    cosine.load(state.inner("cosine"));
    const auto dimension = sums.dimension();
    if (state.has("branch")) {
      branch = state.integer("branch");
      require(0 < branch && branch <= dimension,
              "of {} features {} cannot be a branch's",
              dimension,
              branch);
      branch_cosine.load(state.inner("branch_cosine"));
    }
    if (state.has("bias")) bias = state.floating_tensor("bias", {dimension});
    if (state.has("largest")) largest = state.tensor("largest", torch::kDouble, {dimension});
  }

  [[nodiscard]] tensor::State state() const {
    tensor::State out;
    out.set("moments", sums.state());
    out.set("cosine", cosine.state());
    if (branch > 0) {
      out.set("branch", branch);
      out.set("branch_cosine", branch_cosine.state());
    }
    if (bias.defined()) out.set("bias", bias);
    if (largest.defined()) out.set("largest", largest);
    return out;
  }

  void merge(const MomentLayer& other) {
    sums.merge(other.sums);
    cosine.merge(other.cosine);
    branch_cosine.merge(other.branch_cosine);
    if (other.largest.defined()) largest = larger(largest, other.largest);
  }

  void write(const std::string& name, store::Snapshot& out) {
    auto moments = sums.result();
    const auto rows = moments.n, nonfinite_rows = moments.nonfinite_rows;
    add_parts(out, name, moments, weight, branch);
    const auto c = tensor::kappa(std::move(moments), bias);
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
    add_scalar(out, id::kMeanCosine, name, cosine.result());
    if (branch > 0) add_scalar(out, id::kBranchMeanCosine, name, branch_cosine.result());
    add_scalar(out, id::kMeanLeverage, name, c.mean_leverage);
    add_scalar(out, id::kLargestVariance, name, c.sigma.lambda_max);
    add_scalar(out, id::kVarianceAlongMean, name, c.variance_along_mean);
    add_scalar(out, id::kAverageVariance, name, c.average_variance);
    add_scalar(out, id::kConstantFeatures, name, static_cast<double>(c.constant_features));
    add_scalar(out, id::kNonfiniteRows, name, static_cast<double>(nonfinite_rows));
    if (largest.defined()) {
      add_scalar(out, id::kOutsideBfloat16, name, static_cast<double>(outside_bfloat16(largest)));
    }
    add_scalar(out, id::kFeatureProducts, name, c.products);
    out.scalars.back().attributes[store::attribute::kRoute] = linalg::to_string(c.route);
  }
};

/// Mean and covariance of the post-gating features of every tapped layer over a window, and from
/// them the condition numbers κ(Σ), κ(Σ+μμᵀ), κ(Σ+(μ+b)(μ+b)ᵀ) (PGB, Proposition 1), plain and
/// after diagonal scaling, with intervals, the ranks and the mean cosine of two rows. Of a branch's
/// features isotropy and mean cosine, and where the front end gives W_d its condition number and
/// the isotropy of the layer's output. Writes kappa/* and features/* per layer. Cost: half a
/// product φᵀφ a step; at emission four eigendecompositions of order d_ff a layer (one with
/// vectors), or from d_ff = 1,024 on one factorisation (linalg/features/kappa.h). features/products
/// has the route as an attribute, and the products that it took.
class FeatureMoments final : public LayerWindows<MomentLayer> {
 public:
  /// `outputs`: measure W_d and the layer's output too, where the front end gives W_d: two products
  /// of d_model, d_ff and d_ff, and its singular values.
  FeatureMoments(linalg::MomentOptions options, bool outputs)
      : options_(options), outputs_(outputs) {}

  [[nodiscard]] std::string_view name() const override { return "features"; }
  [[nodiscard]] session::Needs needs() const override { return {.features = true}; }
  /// On one core of 2024: 0.25 s for 512 features, 6 s for 3,072.
  [[nodiscard]] double presumed_cost() const override { return 1e-6; }
  [[nodiscard]] bool works_on_device() const override { return false; }
  /// Sums of squares, in double.
  [[nodiscard]] double presumed_memory(int64_t features,
                                       int64_t /*rows*/,
                                       int /*bytes*/) const override {
    return 8 * static_cast<double>(features) * static_cast<double>(features);
  }

 private:
  void add_pass(int64_t /*step*/, const session::LayerView& view) override {
    auto& layer = layers().try_emplace(view.name, view.features.size(1), options_).first->second;
    layer.sums.update(view.features, view.mask, view.rows_per_group);
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
  [[nodiscard]] MomentLayer read(const tensor::State& state) const override {
    return MomentLayer(state, options_);
  }

  linalg::MomentOptions options_;
  bool outputs_;
};

}  // namespace

std::unique_ptr<session::Probe> make_features(const ProbeOptions& options) {
  linalg::MomentOptions moments;
  moments.sample_rows = options.sample_rows;
  return std::make_unique<FeatureMoments>(moments, options.outputs);
}

}  // namespace kappascope::probes
