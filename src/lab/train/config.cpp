// SPDX-License-Identifier: Apache-2.0
#include "lab/train/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <numbers>

#include "core/printable.h"
#include "kappascope/core/error.h"
#include "lab/nn/gated_mlp.h"
#include "lab/nn/transformers/language_models.h"
#include "lab/train/adversarial.h"
#include "lab/train/device.h"
#include "lab/train/precision.h"

namespace kappascope::train {
namespace {

void usage(bool condition, const std::string& message) {
  if (!condition) throw UsageError(message);
}

void one_of(const std::string& option,
            const std::string& value,
            std::initializer_list<const char*> allowed) {
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return;
  throw UsageError(
      fmt::format("{} must be one of {}; got '{}'", option, fmt::join(allowed, ", "), value));
}

void validate_transformer(const TransformerConfig& config) {
  if (!config.preset.empty()) {
    const auto blocks = nn::language_model(config.preset).layers();
    usage(config.preset_blocks >= 0 && config.preset_blocks <= blocks,
          fmt::format("model.preset-blocks must be 0 (all) to {}, which {} has; got {}",
                      blocks,
                      config.preset,
                      config.preset_blocks));
  }
  one_of("model.layout", config.layout, {"llama", "phi3", "qwen3", "gemma3"});
  if (!config.norm.empty()) nn::parse_norm_kind(config.norm);
  if (!config.norm_order.empty()) nn::parse_norm_order(config.norm_order);
  usage(config.attention_bias.find_first_not_of("qkvo") == std::string::npos,
        fmt::format("model.attention-bias names those of q, k, v and o that have one, got '{}'",
                    config.attention_bias));
  usage(config.heads >= 1 && config.kv_heads >= 0 && config.window >= 1 &&
            config.global_every >= 1 && config.patch >= 0 && config.latent >= 1 &&
            config.branch_width >= 0,
        "model.heads, window, global-every and latent must be at least 1; kv-heads, branch-width "
        "and patch at least 0");
  usage(config.residual_dropout >= 0 && config.residual_dropout < 1,
        fmt::format("model.residual-dropout must be in [0, 1), got {}", config.residual_dropout));
  usage(config.initial_deviation > 0 && std::isfinite(config.initial_deviation),
        fmt::format("model.initial-deviation must be positive, got {}", config.initial_deviation));
  usage(config.latent_noise >= 0 && config.length_weight >= 0,
        "model.latent-noise and model.length-weight must not be negative");
}

/// Refuses a setting that this configuration does not read: an arm that changes it would be the
/// same run as the control.
void refuse_without_effect(const TrainConfig& c) {
  const TrainConfig plain;
  const auto &t = c.transformer, &d = plain.transformer;
  const bool language = c.kind == "language", vae = c.kind == "vit-vae", mlp = c.kind == "mlp";
  const bool asger = language && c.ffn == "asger", iso = language && c.ffn == "isogmlp";
  const bool sized = !language || t.preset.empty();
  struct Setting {
    const char* name;
    bool changed, read;
  };
  const Setting settings[] = {
      {"model.preset", t.preset != d.preset, language},
      {"model.preset-blocks", t.preset_blocks != d.preset_blocks, language && !t.preset.empty()},
      {"model.layout", t.layout != d.layout, language && sized},
      {"model.width", c.width != plain.width, sized},
      {"model.hidden", c.hidden != plain.hidden, sized},
      {"model.blocks", c.blocks != plain.blocks, sized},
      {"model.heads", t.heads != d.heads, (language || vae) && sized},
      {"model.kv-heads", t.kv_heads != d.kv_heads, language && sized},
      {"model.window", t.window != d.window, language && sized && t.layout == "gemma3"},
      {"model.global-every",
       t.global_every != d.global_every,
       language && sized && t.layout == "gemma3"},
      {"model.residual", c.residual != plain.residual, mlp},
      {"model.embedding", c.embedding != plain.embedding, mlp},
      {"model.dropout-placement", !c.dropout_placement.empty(), !vae && !asger && !iso},
      {"model.norm-bias", t.norm_bias != d.norm_bias, language},
      {"model.norm", t.norm != d.norm, language},
      {"model.norm-order", t.norm_order != d.norm_order, language},
      {"model.attention-bias", t.attention_bias != d.attention_bias, language},
      {"model.rotary", t.rotary != d.rotary, language},
      {"model.residual-dropout", t.residual_dropout != d.residual_dropout, language},
      {"model.initial-deviation", t.initial_deviation != d.initial_deviation, language || vae},
      {"model.alpha", t.alpha != d.alpha, asger},
      {"model.beta", t.beta != d.beta, asger},
      {"model.learn-beta", t.learn_beta != d.learn_beta, asger},
      {"model.learn-alpha", t.learn_alpha != d.learn_alpha, asger},
      {"model.spatial", t.spatial != d.spatial, asger},
      {"model.balanced", t.balanced != d.balanced, asger},
      {"model.branch", t.branch != d.branch, iso},
      {"model.branch-width", t.branch_width != d.branch_width, iso && t.branch},
      {"model.branch-norm", t.branch_norm != d.branch_norm, iso && t.branch},
      {"model.orthogonal", t.orthogonal != d.orthogonal, iso},
      {"model.scaled-start", t.scaled_start != d.scaled_start, iso && !t.orthogonal},
      {"model.temperature", t.temperature != d.temperature, iso && t.branch},
      {"model.patch", t.patch != d.patch, vae},
      {"model.latent", t.latent != d.latent, vae},
      {"model.latent-noise", t.latent_noise != d.latent_noise, vae},
      {"model.length-weight", t.length_weight != d.length_weight, vae},
      {"data.context", c.context != plain.context, language},
      {"data.token-bits", c.token_bits != plain.token_bits, language},
      {"data.vocabulary", c.vocabulary != plain.vocabulary, language},
      {"data.normalise", c.normalise != plain.normalise, mlp},
      {"data.rows", c.rows != plain.rows, mlp},
      {"data.image-size", c.image_size != plain.image_size, !language},
      {"train.loss", c.loss != plain.loss, mlp},
      {"train.decay-of", c.decay_of != plain.decay_of, c.weight_decay > 0},
      {"train.logit-rows", c.logit_rows != plain.logit_rows, language},
      {"train.recompute", c.recompute != plain.recompute, language || vae},
      {"attack.ball", c.ball != plain.ball, c.attack_rows > 0},
      {"attack.units", c.units != plain.units, c.attack_rows > 0 && c.normalise},
      {"attack.clip", c.clip != plain.clip, c.attack_rows > 0 && c.units == plain.units},
      {"attack.start", c.attack_start != plain.attack_start, c.attack_rows > 0},
      {"attack.rows", c.attack_rows != plain.attack_rows, mlp}};
  for (const auto& setting : settings) {
    usage(
        !setting.changed || setting.read,
        fmt::format("{} has no effect here (model.kind = {}, model.ffn = {}, model.layout = {}{})",
                    setting.name,
                    c.kind,
                    c.ffn.empty() ? "its own" : c.ffn,
                    t.layout,
                    t.preset.empty() ? "" : ", model.preset = " + t.preset));
  }
}

/// Refuses to part a batch where the parts' gradients do not add up to the batch's. `by`: who asks
/// for it.
void require_parts(const TrainConfig& config, const std::string& by) {
  usage(config.kind != "vit-vae",
        by +
            " needs a loss that is a mean over rows; that of a vit-vae has the root of a mean over "
            "the batch");
  usage(config.transformer.norm != "batch",
        by + " does not go with model.norm = batch, which normalises over the rows of a pass: the "
             "gradients would not be those of the batch");
}

}  // namespace

bool TrainConfig::can_be_parted() const {
  return kind != "vit-vae" && transformer.norm != "batch";
}

bool TrainConfig::can_recompute() const {
  return kind != "mlp" && transformer.norm != "batch";
}

int64_t TrainConfig::steps_with(int64_t training_rows) const {
  if (steps > 0) return steps;
  const int64_t batches = training_rows / batch;
  return std::max<int64_t>(1, std::llround(epochs * static_cast<double>(batches)));
}

int64_t TrainConfig::steps_between_checkpoints(int64_t run_steps) const {
  return checkpoint_every > 0 ? checkpoint_every : std::max<int64_t>(1, run_steps / 10);
}

void TrainConfig::require_shared_by(int64_t processes) const {
  if (processes == 1) return;
  usage(batch >= processes,
        fmt::format("a batch of {0} does not reach for {1} processes: set train.batch to at least "
                    "{1}, or start fewer",
                    batch,
                    processes));
  require_parts(*this, "training in several processes");
}

void TrainConfig::validate() const {
  one_of("model.kind", kind, {"mlp", "language", "vit-vae"});
  if (!ffn.empty() && kind == "language") {
    nn::parse_feed_forward(ffn, 1, 1);
  } else if (!ffn.empty()) {
    nn::parse_gate(ffn);
  }
  validate_transformer(transformer);
  const auto placement = nn::parse_bias_placement(bias);
  one_of("model.bias-start", bias_start, {"zero", "mean"});
  usage(bias_start == "zero" || nn::learns_post_gating(placement),
        fmt::format("model.bias-start = mean is of a bias that is learnt in front of the "
                    "down-projection, but model.bias is {}",
                    bias));
  if (!dropout_placement.empty()) nn::parse_dropout_placement(dropout_placement);
  parse_ball(ball);
  one_of("attack.units", units, {"pixels", "inputs"});
  one_of("train.loss", loss, {"cross-entropy", "squared"});
  one_of("train.optimizer", optimizer, {"adam", "adamw", "sgd"});
  require_device_name(device);
  low_precision(precision);
  one_of("train.decay-of", decay_of, {"all", "matrices"});
  one_of("train.schedule", schedule, {"cosine", "constant"});
  usage(width >= 1, fmt::format("model.width must be at least 1, got {}", width));
  usage(hidden >= 1, fmt::format("model.hidden must be at least 1, got {}", hidden));
  usage(blocks >= 1, fmt::format("model.blocks must be at least 1, got {}", blocks));
  usage(dropout >= 0 && dropout < 1,
        fmt::format("model.dropout must be in [0, 1), got {}", dropout));
  usage(std::isfinite(learning_rate) && learning_rate > 0,
        fmt::format("train.learning-rate must be positive, got {}", learning_rate));
  usage(final_learning_rate >= 0 && final_learning_rate <= 1,
        fmt::format("train.final-learning-rate is a share of the learning rate, in [0, 1]; got {}",
                    final_learning_rate));
  usage(momentum >= 0 && momentum < 1,
        fmt::format("train.momentum must be in [0, 1), got {}", momentum));
  usage(momentum == 0 || optimizer == "sgd",
        fmt::format("train.momentum is an option of sgd, but train.optimizer is {}", optimizer));
  usage(beta1 >= 0 && beta1 < 1 && beta2 >= 0 && beta2 < 1,
        fmt::format("train.beta1 and train.beta2 must be in [0, 1), got {} and {}", beta1, beta2));
  usage(weight_decay >= 0,
        fmt::format("train.weight-decay must not be negative, got {}", weight_decay));
  usage(steps >= 0, fmt::format("train.steps must not be negative, got {}", steps));
  usage(steps > 0 || (std::isfinite(epochs) && epochs > 0),
        fmt::format("train.epochs must be positive, got {}", epochs));
  usage(rows >= 0, fmt::format("data.rows must not be negative, got {}", rows));
  usage(context >= 1, fmt::format("data.context must be at least 1, got {}", context));
  usage(token_bits == 16 || token_bits == 32,
        fmt::format("data.token-bits must be 16 or 32, got {}", token_bits));
  usage(eval_rows >= 0, fmt::format("train.eval-rows must not be negative, got {}", eval_rows));
  usage(batch >= 1, fmt::format("train.batch must be at least 1, got {}", batch));
  usage(micro_batch >= 0 && micro_batch <= batch,
        fmt::format("train.micro-batch must be 0 to train.batch ({}), got {}", batch, micro_batch));
  if (micro_batch != 0 && micro_batch != batch) require_parts(*this, "train.micro-batch");
  usage(logit_rows >= 0, fmt::format("train.logit-rows must not be negative, got {}", logit_rows));
  usage(!recompute || transformer.norm != "batch",
        "train.recompute does not go with model.norm = batch: a second run of a block would count "
        "its rows twice in the running means");
  usage(warmup >= 0, fmt::format("train.warmup must not be negative, got {}", warmup));
  usage(label == printable(label),
        fmt::format("label must be text on one line without control characters, got '{}'",
                    printable(label)));
  usage(eval_every >= 0 && checkpoint_every >= 0 && keep_checkpoints >= 0,
        "train.eval-every, train.checkpoint-every and train.keep-checkpoints must not be negative");
  usage(attack_rows >= 0 && attack_start >= 0 && fgsm_radius >= 0 && pgd_radius >= 0 &&
            pgd_steps >= 0 && pgd_step_size >= 0,
        "attack.rows, attack.start, attack.*-radius and attack.pgd-steps must not be negative");
  refuse_without_effect(*this);
  constexpr int kMostThreads = 4096;
  usage(threads >= 0 && threads <= kMostThreads,
        fmt::format("train.threads must be 0 to {}, got {}", kMostThreads, threads));
  // Beyond it lie the negative numbers, which are read as their remainder.
  constexpr auto kLargestSeed = std::numeric_limits<std::int64_t>::max();
  usage(seed <= static_cast<std::uint64_t>(kLargestSeed),
        fmt::format("train.seed must be 0 to {}", kLargestSeed));
}

std::string model_in_words(const TrainConfig& config) {
  const auto& transformer = config.transformer;
  const bool language = config.kind == "language";
  if (language && !transformer.preset.empty()) {
    return transformer.preset_blocks == 0
               ? transformer.preset
               : fmt::format(
                     "{}, the first {} blocks", transformer.preset, transformer.preset_blocks);
  }
  const std::string kind = language ? "language model (" + transformer.layout + ")"
                           : config.kind == "vit-vae" ? "ViT-VAE"
                                                      : "gated MLP";
  const std::string ffn = config.ffn.empty() ? (language ? "" : ", swiglu") : ", " + config.ffn;
  return fmt::format(
      "{}{}, {} blocks of {} to {}", kind, ffn, config.blocks, config.width, config.hidden);
}

std::string optimizer_in_words(const TrainConfig& config) {
  const bool heavy_ball = config.optimizer == "sgd" && config.momentum > 0;
  return config.optimizer + (heavy_ball ? fmt::format(", momentum {}", config.momentum) : "");
}

double learning_rate_at(const TrainConfig& config, int64_t step, int64_t steps) {
  if (step < config.warmup) {
    return config.learning_rate * static_cast<double>(step + 1) /
           static_cast<double>(config.warmup);
  }
  if (config.schedule == "constant") return config.learning_rate;
  const auto span = static_cast<double>(std::max<int64_t>(steps - 1 - config.warmup, 1));
  const double progress = std::min(static_cast<double>(step - config.warmup) / span, 1.0);
  const double floor = config.final_learning_rate;
  return config.learning_rate *
         (floor + (1 - floor) * 0.5 * (1 + std::cos(std::numbers::pi * progress)));
}

}  // namespace kappascope::train
