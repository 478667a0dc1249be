// SPDX-License-Identifier: Apache-2.0
#include <torch/nn/functional/loss.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <string>

#include "kappascope/core/error.h"
#include "lab/data/tokens.h"
#include "lab/nn/linear_cross_entropy.h"
#include "lab/nn/transformers/language_models.h"
#include "lab/train/device.h"
#include "lab/train/problems/problems.h"

namespace kappascope::train {
namespace {

nn::CausalLmOptions layout_of(const TrainConfig& config, int64_t vocabulary) {
  const auto& t = config.transformer;
  if (!t.preset.empty()) {
    auto options = nn::language_model(t.preset).vocabulary(vocabulary);
    return t.preset_blocks > 0 ? options.layers(t.preset_blocks) : options;
  }
  const nn::LmSize size{.vocabulary = vocabulary,
                        .layers = config.blocks,
                        .width = config.width,
                        .heads = t.heads,
                        .kv_heads = t.kv_heads,
                        .hidden = config.hidden};
  if (t.layout == "llama") return nn::llama(size);
  if (t.layout == "phi3") return nn::phi3(size);
  if (t.layout == "gemma3") return nn::gemma3(size, t.window).global_every(t.global_every);
  return nn::qwen3(size);
}

/// The feed-forward layer with everything that the configuration says of it.
nn::FeedForwardOptions feed_forward_of(const TrainConfig& config, nn::FeedForwardOptions mlp) {
  const auto& t = config.transformer;
  if (!config.ffn.empty()) {
    // A layout's joint matrix of gate and up stays one.
    const auto& before = std::get<nn::GatedMlpOptions>(mlp);
    const bool fused = before.fused();
    mlp = nn::parse_feed_forward(config.ffn, before.width(), before.hidden());
    if (auto* gated = std::get_if<nn::GatedMlpOptions>(&mlp)) gated->fused(fused);
  }
  if (auto* gated = std::get_if<nn::GatedMlpOptions>(&mlp)) {
    gated->dropout(config.dropout);
    if (!config.dropout_placement.empty()) {
      gated->dropout_placement(nn::parse_dropout_placement(config.dropout_placement));
    }
  } else if (auto* asger = std::get_if<nn::AsgerOptions>(&mlp)) {
    asger->alpha(t.alpha)
        .beta(t.beta)
        .learn_alpha(t.learn_alpha)
        .learn_beta(t.learn_beta)
        .spatial(t.spatial)
        .balanced(t.balanced)
        .dropout(config.dropout);
  } else if (auto* iso = std::get_if<nn::IsoGmlpOptions>(&mlp)) {
    iso->branch(t.branch)
        .iso_width(t.branch_width)
        .layer_norm(t.branch_norm)
        .orthogonal(t.orthogonal)
        .scaled(t.scaled_start)
        .temperature(t.temperature)
        .dropout(config.dropout);
  }
  return mlp;
}

}  // namespace

nn::CausalLmOptions language_options(const TrainConfig& config, int64_t vocabulary) {
  const auto& t = config.transformer;
  auto options = layout_of(config, vocabulary);
  auto& block = options.block();
  block.mlp(feed_forward_of(config, block.mlp())).dropout(t.residual_dropout);
  options.initial_deviation(t.initial_deviation);
  if (!t.norm.empty()) block.norm().kind(nn::parse_norm_kind(t.norm));
  if (!t.norm_order.empty()) block.order(nn::parse_norm_order(t.norm_order));
  const auto has = [&](char which) { return t.attention_bias.find(which) != std::string::npos; };
  auto& attention = block.attention();
  attention.q_bias(has('q')).k_bias(has('k')).v_bias(has('v')).o_bias(has('o'));
  if (!t.rotary) {
    attention.rotary_base(0);
    options.local_rotary_base(0);
  }
  return nn::with_biases(options, nn::parse_bias_placement(config.bias), t.norm_bias);
}

namespace {

data::TokenOptions token_options(const TrainConfig& config) {
  return {.length = config.context, .vocabulary = config.vocabulary, .bits = config.token_bits};
}

class Language final : public Problem {
 public:
  explicit Language(const TrainConfig& config)
      : config_(config),
        device_(device_named(config.device)),
        train_(config.data, data::Split::kTrain, token_options(config)),
        test_(config.data, data::Split::kTest, token_options(config)),
        model_(language_options(config, train_.vocabulary())) {
    nn::set_fused_attention(*model_, config.transformer.fused_attention);
    nn::set_recompute(*model_, config.recompute);
  }

  [[nodiscard]] torch::nn::Module& model() override { return *model_; }
  [[nodiscard]] int64_t rows(data::Split split) const override { return source(split).size(); }
  [[nodiscard]] std::string unit() const override { return "windows"; }

  [[nodiscard]] at::Tensor losses(data::Split split, const at::Tensor& indices) override {
    const auto ids = windows(split, indices);
    const auto targets = ids.narrow(1, 1, ids.size(1) - 1).flatten();
    const auto terms = torch::nn::functional::cross_entropy(
        logits(ids), targets, torch::nn::CrossEntropyLossOptions().reduction(torch::kNone));
    return terms.view({ids.size(0), -1});
  }
  [[nodiscard]] at::Tensor mean_loss(data::Split split,
                                     const at::Tensor& indices,
                                     std::optional<at::ScalarType> type) override {
    if (config_.logit_rows == 0) return Problem::mean_loss(split, indices, type);
    const auto ids = windows(split, indices);
    const auto tokens = ids.size(1) - 1;
    return nn::linear_cross_entropy(model_->model->forward(ids.narrow(1, 0, tokens)).flatten(0, 1),
                                    model_->head(),
                                    ids.narrow(1, 1, tokens).flatten(),
                                    config_.logit_rows);
  }
  [[nodiscard]] at::Tensor outputs(data::Split split, const at::Tensor& indices) override {
    return logits(windows(split, indices));
  }
  [[nodiscard]] std::vector<store::Scalar> evaluate(int64_t share) override {
    const auto rows = evaluated_rows(config_, test_.size());
    return {{.name = store::id::kLossTest,
             .layer = "",
             .value = test_loss(*this, rows, rows_at_once(config_, share))}};
  }

 private:
  [[nodiscard]] const data::TokenSource& source(data::Split split) const {
    return split == data::Split::kTrain ? train_ : test_;
  }
  [[nodiscard]] at::Tensor windows(data::Split split, const at::Tensor& indices) {
    return timed(split, indices, [&] { return source(split).windows(indices).to(device_); });
  }
  /// Of the token that follows each: [k · tokens, vocabulary].
  [[nodiscard]] at::Tensor logits(const at::Tensor& ids) {
    return model_->forward(ids.narrow(1, 0, ids.size(1) - 1)).flatten(0, 1);
  }

  TrainConfig config_;
  at::Device device_;
  data::TokenSource train_, test_;
  nn::CausalLm model_;
};

}  // namespace

std::unique_ptr<Problem> make_language(const TrainConfig& config) {
  return std::make_unique<Language>(config);
}

int64_t language_model_parameters(const TrainConfig& config) {
  constexpr int64_t kBytes = 256;
  return nn::parameter_count(
      language_options(config, config.vocabulary > 0 ? config.vocabulary : kBytes));
}

}  // namespace kappascope::train
