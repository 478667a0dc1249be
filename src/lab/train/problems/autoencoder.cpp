// SPDX-License-Identifier: Apache-2.0
#include <torch/nn/module.h>
#include <torch/types.h>

#include <algorithm>

#include "core/require.h"
#include "lab/nn/transformers/vit_vae.h"
#include "lab/train/device.h"
#include "lab/train/problems/problems.h"

namespace kappascope::train {
namespace {

/// The largest side up to 16 that divides both sides of the images and leaves at least 4 x 4
/// patches; 1 where there is none.
int64_t fitting_patch(const data::ImageShape& shape) {
  constexpr int64_t kLargest = 16, kFewest = 4;
  auto patch = std::min(kLargest, std::min(shape.height, shape.width) / kFewest);
  while (patch > 1 && (shape.height % patch != 0 || shape.width % patch != 0)) --patch;
  return std::max<int64_t>(patch, 1);
}

}  // namespace

nn::VitVaeOptions vae_options(const TrainConfig& config, const data::ImageShape& shape) {
  const auto& t = config.transformer;
  return nn::VitVaeOptions(shape.height, shape.width)
      .channels(shape.channels)
      .patch(t.patch > 0 ? t.patch : fitting_patch(shape))
      .width(config.width)
      .hidden(config.hidden)
      .heads(t.heads)
      .encoder_blocks(config.blocks)
      .decoder_blocks(config.blocks)
      .latent(t.latent)
      .gate(nn::parse_gate(config.ffn.empty() ? "swiglu" : config.ffn))
      .bias(nn::parse_bias_placement(config.bias))
      .dropout(config.dropout)
      .latent_noise(t.latent_noise)
      .initial_deviation(t.initial_deviation)
      .length_weight(t.length_weight);
}

namespace {

class Autoencoder final : public Problem {
 public:
  explicit Autoencoder(const TrainConfig& config)
      : config_(config),
        device_(device_named(config.device)),
        train_(data::open_images(config.data, data::Split::kTrain, {config.image_size})),
        test_(data::open_images(config.data, data::Split::kTest, {config.image_size})) {
    const auto shape = train_->shape();
    require(shape == test_->shape(), "training and test images of {} differ in shape", config.data);
    model_ = nn::VitVae(vae_options(config, shape));
    nn::set_recompute(*model_, config.recompute);
  }

  [[nodiscard]] torch::nn::Module& model() override { return *model_; }
  [[nodiscard]] int64_t rows(data::Split split) const override { return source(split).size(); }
  [[nodiscard]] std::string unit() const override { return "images"; }

  /// One term for all rows: the root of the mean square does not split into terms of its own. So
  /// the test loss is the mean over batches of train.batch rows, and the gradient that probes call
  /// a token's is the batch's, times its tokens: its scale means nothing by itself.
  [[nodiscard]] at::Tensor losses(data::Split split, const at::Tensor& indices) override {
    const auto images =
        timed(split, indices, [&] { return source(split).images(indices).to(device_); });
    return model_->loss(images).view({1});
  }
  [[nodiscard]] bool is_mean_over_rows() const override { return false; }
  [[nodiscard]] at::Tensor outputs(data::Split /*split*/, const at::Tensor& /*rows*/) override {
    throw UsageError(
        "the loss of a ViT-VAE is the root of a mean square and a length, and Gauss-Newton takes "
        "cross entropy or squared loss: use --operator hessian");
  }
  void expect(const at::Tensor& indices) override {
    if (!device_.is_cpu()) train_->expect(indices);
  }
  [[nodiscard]] std::vector<store::Scalar> evaluate(int64_t share) override {
    const auto rows = evaluated_rows(config_, test_->size());
    return {{.name = store::id::kLossTest,
             .layer = "",
             .value = test_loss(*this, rows, rows_at_once(config_, share))}};
  }

 private:
  [[nodiscard]] const data::ImageSource& source(data::Split split) const {
    return split == data::Split::kTrain ? *train_ : *test_;
  }

  TrainConfig config_;
  at::Device device_;
  std::unique_ptr<data::ImageSource> train_, test_;
  nn::VitVae model_{nullptr};
};

}  // namespace

std::unique_ptr<Problem> make_autoencoder(const TrainConfig& config) {
  return std::make_unique<Autoencoder>(config);
}

}  // namespace kappascope::train
