// SPDX-License-Identifier: Apache-2.0
#include <torch/nn/functional/loss.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <functional>

#include "core/require.h"
#include "lab/nn/evaluation_mode.h"
#include "lab/nn/mlp_stack.h"
#include "lab/train/adversarial.h"
#include "lab/train/device.h"
#include "lab/train/problems/problems.h"

namespace kappascope::train {

nn::MlpStackOptions mlp_options(const TrainConfig& config, int64_t inputs, int64_t classes) {
  return nn::MlpStackOptions(inputs, classes)
      .width(config.width)
      .hidden(config.hidden)
      .blocks(config.blocks)
      .residual(config.residual)
      .embedding(config.embedding)
      .gate(nn::parse_gate(config.ffn.empty() ? "swiglu" : config.ffn))
      .bias(nn::parse_bias_placement(config.bias))
      .dropout(config.dropout)
      .dropout_placement(nn::parse_dropout_placement(
          config.dropout_placement.empty() ? "up" : config.dropout_placement));
}

namespace {

class Classification final : public Problem {
 public:
  explicit Classification(const TrainConfig& config)
      : config_(config),
        device_(device_named(config.device)),
        squared_(config.loss == "squared"),
        train_(data::open_images(config.data, data::Split::kTrain, {config.image_size})),
        test_(data::open_images(config.data, data::Split::kTest, {config.image_size})) {
    require(train_->shape() == test_->shape(),
            "the training images have {} values and the test images {} ({})",
            train_->shape().size(),
            test_->shape().size(),
            config.data);
    classes_ = std::max(train_->classes(), test_->classes());
    require(classes_ > 0, "the images of {} have no labels to learn", config.data);
    model_ = nn::MlpStack(mlp_options(config, train_->shape().size(), classes_));
    if (config.normalise) measure_inputs();
  }

  [[nodiscard]] torch::nn::Module& model() override { return *model_; }
  [[nodiscard]] int64_t rows(data::Split split) const override {
    const auto all = source(split).size();
    return split == data::Split::kTrain && config_.rows > 0 ? std::min(config_.rows, all) : all;
  }
  [[nodiscard]] std::string unit() const override { return "images"; }

  [[nodiscard]] at::Tensor losses(data::Split split, const at::Tensor& indices) override {
    return losses_of(outputs(split, indices), labels(split, indices));
  }
  [[nodiscard]] at::Tensor outputs(data::Split split, const at::Tensor& indices) override {
    return forward(images(split, indices));
  }

  void expect(const at::Tensor& indices) override {
    if (!device_.is_cpu()) train_->expect(indices);
  }
  [[nodiscard]] std::vector<store::Scalar> evaluate(int64_t /*share*/) override {
    const torch::NoGradGuard no_grad;
    const nn::EvaluationMode evaluation(*model_);
    const auto chunk = rows_at_once(config_, 2000);
    double loss = 0, right = 0;
    const auto rows = evaluated_rows(config_, test_->size());
    for (int64_t begin = 0; begin < rows; begin += chunk) {
      const auto indices = torch::arange(begin, std::min(begin + chunk, rows), torch::kLong);
      const auto wanted = labels(data::Split::kTest, indices);
      const auto out = outputs(data::Split::kTest, indices);
      loss += losses_of(out, wanted).sum(torch::kDouble).item<double>();
      right += out.argmax(-1).eq(wanted).sum().item<double>();
    }
    const auto n = static_cast<double>(rows);
    std::vector<store::Scalar> out = {
        {.name = store::id::kLossTest, .layer = "", .value = loss / n},
        {.name = store::id::kAccuracyTest, .layer = "", .value = right / n}};
    evaluate_attacks(out);
    return out;
  }

 private:
  /// Mean and deviation of each channel over the training images: all of them, or as many evenly
  /// spaced ones as tell both to a hundredth.
  void measure_inputs() {
    constexpr int64_t kMost = 20'000, kChunk = 2000;
    constexpr double kShift = 0.5;  // about the middle of [0, 1], so that no digits cancel
    const auto trained = rows(data::Split::kTrain);
    const auto every = (trained + kMost - 1) / kMost;
    const auto channels = train_->shape().channels;
    auto sum = torch::zeros({channels}, torch::kDouble), squares = torch::zeros_like(sum);
    const auto all = torch::arange(0, trained, every, torch::kLong);
    for (const auto& some : all.split(kChunk)) {
      const auto x = train_->images(some).to(torch::kDouble) - kShift;
      sum += x.sum({0, 2, 3});
      squares += x.square().sum({0, 2, 3});
    }
    const auto n = static_cast<double>(all.numel()) * static_cast<double>(train_->shape().size()) /
                   static_cast<double>(channels);
    const auto mean = sum / n;
    const auto variance = squares / n - mean.square();
    // A channel that is the same everywhere tells nothing: it becomes zero.
    constexpr double kRounding = 1e-12;
    const auto scale =
        torch::where(variance > kRounding, variance, torch::ones_like(variance)).sqrt();
    mean_ = (mean + kShift).to(torch::kFloat).view({1, channels, 1, 1}).to(device_);
    deviation_ = scale.to(torch::kFloat).view({1, channels, 1, 1}).to(device_);
  }

  [[nodiscard]] at::Tensor images(data::Split split, const at::Tensor& indices) {
    return timed(split, indices, [&] { return source(split).images(indices).to(device_); });
  }
  [[nodiscard]] at::Tensor labels(data::Split split, const at::Tensor& indices) const {
    return source(split).labels(indices).to(device_);
  }
  /// What the network sees of images [k, channels, height, width] in [0, 1].
  [[nodiscard]] at::Tensor seen(const at::Tensor& images) const {
    return mean_.defined() ? (images - mean_) / deviation_ : images;
  }
  at::Tensor forward(const at::Tensor& images) { return model_->forward(seen(images).flatten(1)); }

  [[nodiscard]] const data::ImageSource& source(data::Split split) const {
    return split == data::Split::kTrain ? *train_ : *test_;
  }
  [[nodiscard]] at::Tensor losses_of(const at::Tensor& outputs, const at::Tensor& labels) const {
    if (squared_) {
      // One term a sample (summed over the outputs), so that a gradient scales back by the batch.
      const auto wide =
          at::isReducedFloatingType(outputs.scalar_type()) ? outputs.to(torch::kFloat) : outputs;
      const auto targets = torch::one_hot(labels, wide.size(-1)).to(wide.dtype());
      return (wide - targets).square().sum(-1).mul(0.5);
    }
    return torch::nn::functional::cross_entropy(
        outputs, labels, torch::nn::CrossEntropyLossOptions().reduction(torch::kNone));
  }

  /// Share of the first attacked test images that are told right after each attack.
  void evaluate_attacks(std::vector<store::Scalar>& out) {
    const auto rows = std::min(config_.attack_rows, test_->size());
    if (rows == 0) return;
    const auto indices = torch::arange(rows, torch::kLong);
    const auto clean = images(data::Split::kTest, indices);
    const auto all_labels = labels(data::Split::kTest, indices);
    using Forward = std::function<at::Tensor(const at::Tensor&)>;
    const auto measure = [&](store::SeriesId name,
                             const AttackOptions& options,
                             const at::Tensor& inputs,
                             const Forward& through) {
      // The noise of all rows is drawn at once: it does not depend on the pieces.
      const auto start = attack_start(inputs, options);
      const auto pieces = rows_at_once(config_, rows);
      double right = 0;
      for (int64_t begin = 0; begin < rows; begin += pieces) {
        const auto count = std::min(pieces, rows - begin);
        const auto wanted = all_labels.narrow(0, begin, count);
        const auto loss = [&](const at::Tensor& x) { return losses_of(through(x), wanted).sum(); };
        const auto attacked = attack_from(
            loss, inputs.narrow(0, begin, count), start.narrow(0, begin, count), options);
        right += through(attacked).argmax(-1).eq(wanted).sum().item<double>();
      }
      out.push_back({.name = name, .layer = "", .value = right / static_cast<double>(rows)});
    };
    const Forward of_pixels = [this](const at::Tensor& x) { return forward(x); };
    const Forward of_inputs = [this](const at::Tensor& x) { return model_->forward(x.flatten(1)); };
    auto document = document_attack();
    document.start = config_.attack_start;
    document.ball = parse_ball(config_.ball);
    const bool in_pixels = config_.units == "pixels";
    document.clip = in_pixels && config_.clip;
    measure(store::id::kAccuracyDocumentAttack,
            document,
            in_pixels ? clean : seen(clean),
            in_pixels ? of_pixels : of_inputs);
    measure(store::id::kAccuracyFgsm, fgsm(config_.fgsm_radius), clean, of_pixels);
    measure(store::id::kAccuracyPgd,
            pgd(config_.pgd_radius, config_.pgd_steps, config_.pgd_step_size),
            clean,
            of_pixels);
  }

  TrainConfig config_;
  at::Device device_;
  bool squared_;
  std::unique_ptr<data::ImageSource> train_, test_;
  int64_t classes_ = 0;
  at::Tensor mean_, deviation_;  ///< [1, channels, 1, 1]; undefined where inputs are not normalised
  nn::MlpStack model_{nullptr};
};

}  // namespace

std::unique_ptr<Problem> make_classification(const TrainConfig& config) {
  return std::make_unique<Classification>(config);
}

}  // namespace kappascope::train
