// SPDX-License-Identifier: Apache-2.0
#include "lab/train/plan/model_cost.h"

#include <torch/nn/functional/loss.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>

#include <algorithm>
#include <utility>

#include "core/require.h"
#include "lab/nn/mlp_stack.h"
#include "lab/nn/transformers/language_models.h"
#include "lab/nn/transformers/vit_vae.h"
#include "lab/train/precision.h"
#include "lab/train/problems/problems.h"
#include "tensor/allocations.h"
#include "tensor/autocast.h"

namespace kappascope::train {
namespace {

/// A forward pass of some rows, whose gradient is taken of the mean of what it returns.
using PassOfRows = std::function<at::Tensor(std::int64_t rows)>;

struct Measured {
  Affine kept, workspace;
};

/// What is measured is made here: its weights and their gradients take 8 bytes a parameter, and a
/// plan is asked before anybody knows whether that fits.
constexpr double kMostParameters = 1 << 28;

void require_measurable(const char* part, double parameters) {
  require(parameters <= kMostParameters,
          "a plan measures {}, and this one has {:.3g} parameters of which it takes up to {:.3g}: "
          "plan with a smaller width or hidden width; time and memory grow as their product",
          part,
          parameters,
          kMostParameters);
}

std::int64_t parameters_of(const torch::nn::Module& module) {
  std::int64_t count = 0;
  for (const auto& parameter : module.parameters()) count += parameter.numel();
  return count;
}

/// Entries of the matrices of linear layers: each is a multiplication and an addition a token.
std::int64_t matrix_entries(const torch::nn::Module& module) {
  std::int64_t count = 0;
  for (const auto& part : module.modules(/*include_self=*/true)) {
    if (const auto* linear = part->as<torch::nn::LinearImpl>()) count += linear->weight.numel();
    if (const auto* tapped = part->as<nn::TappedLinearImpl>()) count += tapped->weight.numel();
  }
  return count;
}

/// Products of queries with keys, and of weights with values.
double attention_flop(const nn::AttentionOptions& options, std::int64_t tokens) {
  const auto n = static_cast<double>(tokens);
  const auto width = static_cast<double>(
      options.heads() *
      (options.head_width() > 0 ? options.head_width() : options.width() / options.heads()));
  double seen = options.causal() ? (n + 1) / 2 : n;
  if (options.window() > 0) seen = std::min(seen, static_cast<double>(options.window()));
  return 4 * n * seen * width;
}

/// Bytes of a row of the residual stream in float.
double stream_bytes(const ModelCost& cost, std::int64_t width) {
  return 4.0 * static_cast<double>(cost.tokens * width);
}

void add_layers(torch::nn::Module& module, std::int64_t rows, std::vector<LayerSize>& layers) {
  for (const auto& [name, layer] : nn::find_tapped(module))
    layers.push_back({layer->options.in_features(), layer->options.out_features(), rows});
}

/// Gradients are not counted: those of the parameters are allocated before, and the rest is what a
/// backward pass works with. Its peak is the largest of several moments, each of which takes its
/// own bytes a row (fewer than none where the pass has freed what it kept), so that the line
/// through one row and `many` holds for these two and lies above the peak between them.
Measured measure(torch::nn::Module& module,
                 const TrainConfig& config,
                 const PassOfRows& forward,
                 std::int64_t many) {
  const auto pass = [&](std::int64_t rows) {
    const tensor::Allocations counted;
    const auto y = [&] {
      const tensor::Autocast cast(torch::kCPU, low_precision(config.precision));
      return forward(rows);
    }();
    const auto kept = counted.live();
    y.mean().backward();
    return std::pair{static_cast<double>(kept), static_cast<double>(counted.peak() - kept)};
  };
  module.train();
  pass(1);  // makes gradients and tables
  const auto one = pass(1), all = pass(many);
  const auto line = [many](double first, double last) {
    const double slope = (last - first) / static_cast<double>(many - 1);
    return Affine{first - slope, slope};
  };
  return {line(one.first, all.first), line(one.second, all.second)};
}

/// Adds `count` equal blocks of a residual stream. What a block keeps grows with the tokens where
/// attention is fused, so that few are enough to measure it.
void add_blocks(ModelCost& cost,
                const nn::TransformerBlockOptions& options,
                std::int64_t count,
                const TrainConfig& config) {
  constexpr std::int64_t kFew = 64, kTimed = 1024;
  const auto width = options.norm().width();
  const auto tokens = options.attention().fused() ? std::min(cost.tokens, kFew) : cost.tokens;
  const auto longer = static_cast<double>(cost.tokens) / static_cast<double>(tokens);
  require_measurable("one block", static_cast<double>(nn::parameter_count(options)));
  nn::TransformerBlock block(options);
  const PassOfRows forward = [block, tokens, width](std::int64_t some) mutable {
    return block->forward(torch::randn({some, tokens, width}).requires_grad_());
  };
  auto found = measure(*block, config, forward, 2);
  found.kept.per_row *= longer;
  found.workspace.per_row *= longer;
  const auto times = static_cast<double>(count);
  const auto flop_of = [&](std::int64_t some) {
    return 2.0 * static_cast<double>(some * matrix_entries(*block)) +
           attention_flop(options.attention(), some);
  };
  const double flop = flop_of(cost.tokens);
  cost.flop += 3 * times * flop;
  // The input is counted with the block before it.
  const double row = stream_bytes(cost, width);
  const Affine kept{found.kept.fixed, found.kept.per_row - row};
  Affine workspace = found.workspace;
  if (config.recompute) {
    cost.flop_again += times * flop;
    cost.activations += {0, times * row};
    workspace += kept;  // one block at a time is there whole
  } else {
    cost.activations += {times * kept.fixed, times * kept.per_row};
  }
  cost.workspace = {std::max(cost.workspace.fixed, workspace.fixed),
                    std::max(cost.workspace.per_row, workspace.per_row)};
  for (std::int64_t i = 0; i < count; ++i) add_layers(*block, cost.tokens, cost.layers);
  const auto rows = std::max<std::int64_t>(1, kTimed / tokens);
  cost.sample = [forward, rows, type = low_precision(config.precision)] {
    const tensor::Autocast cast(torch::kCPU, type);
    forward(rows).mean().backward();
  };
  cost.sample_flop = 3 * flop_of(tokens) * static_cast<double>(rows);
}

}  // namespace

ModelCost language_cost(const TrainConfig& config, std::int64_t vocabulary) {
  auto options = language_options(config, vocabulary);
  options.block().attention().fused(config.transformer.fused_attention);
  const auto width = options.block().norm().width();
  ModelCost cost;
  cost.parameters = nn::parameter_count(options);
  cost.tokens = config.context;
  const std::int64_t all = options.layers(), global = all / options.global_every();
  if (global < all) add_blocks(cost, nn::block_options(options, 0), all - global, config);
  if (global > 0) {
    const auto last = nn::block_options(options, options.global_every() - 1);
    add_blocks(cost, last, global, config);
  }
  // The embedding's output, and about three values a number that the last norm keeps.
  const double row = stream_bytes(cost, width);
  cost.activations += {0, 4 * row};
  const auto n = static_cast<double>(cost.tokens), words = static_cast<double>(vocabulary),
             wide = static_cast<double>(width);
  cost.flop += 3 * 2 * n * words * wide;
  // Logarithms of probabilities, their gradient, and that of the logits.
  const double a_token = 3 * 4 * words;
  // Both gradients are there from the forward pass on, and once more when they are scaled.
  const auto in_pieces = [&](std::int64_t rows) {
    return Affine{static_cast<double>(rows) * a_token + 2 * 4 * words * wide, 2 * row};
  };
  cost.logits = config.logit_rows == 0 ? Affine{0, n * a_token} : in_pieces(config.logit_rows);
  cost.logits_in_pieces = in_pieces(kLogitRows);
  return cost;
}

ModelCost vae_cost(const TrainConfig& config, const data::ImageShape& shape) {
  const auto options = vae_options(config, shape);
  const auto block = nn::block_options(options);
  const auto blocks = options.encoder_blocks() + options.decoder_blocks();
  const auto patch = options.patch(), width = options.width(), latent = options.latent();
  const auto pixels = shape.channels * patch * patch;
  ModelCost cost;
  cost.tokens = (shape.height / patch) * (shape.width / patch);
  // Four affine maps, the positions and the last norms of both halves.
  const auto matrices = 2 * width * (pixels + latent);
  cost.parameters = blocks * nn::parameter_count(block) + matrices + 2 * width + latent + pixels +
                    2 * cost.tokens * width + 2 * nn::parameter_count(block.norm());
  add_blocks(cost, block, blocks, config);
  cost.flop += 3 * 2.0 * static_cast<double>(cost.tokens * matrices);
  // Patches twice, what is made of them, its error, and the streams about the blocks.
  cost.activations +=
      {0, 4.0 * static_cast<double>(cost.tokens * (4 * pixels + 4 * width + 3 * latent))};
  return cost;
}

ModelCost classifier_cost(const TrainConfig& config,
                          std::int64_t inputs,
                          std::int64_t classes,
                          std::int64_t rows) {
  const auto options = mlp_options(config, inputs, classes);
  const auto width = static_cast<double>(options.width()),
             hidden = static_cast<double>(options.hidden()) * static_cast<double>(options.blocks());
  require_measurable("the model", width * (static_cast<double>(inputs + classes) + 3 * hidden));
  nn::MlpStack model(options);
  const PassOfRows forward = [model, inputs, classes](std::int64_t count) mutable {
    const auto labels = torch::randint(classes, {count}, torch::kLong);
    return torch::nn::functional::cross_entropy(model->forward(torch::rand({count, inputs})),
                                                labels);
  };
  // Of a row: the input, the stream twice a block, and some six numbers a hidden unit.
  const double row =
      static_cast<double>(inputs) + 2 * width * static_cast<double>(options.blocks()) + 6 * hidden;
  const auto most = static_cast<std::int64_t>(std::max(2.0, kMostParameters / row));
  const auto found = measure(*model, config, forward, std::clamp<std::int64_t>(rows, 2, most));
  ModelCost cost;
  cost.parameters = parameters_of(*model);
  cost.flop = 3 * 2.0 * static_cast<double>(matrix_entries(*model));
  cost.activations = found.kept;
  cost.workspace = found.workspace;
  add_layers(*model, 1, cost.layers);
  constexpr std::int64_t kTimed = 64;
  const auto timed = std::min(rows, kTimed);
  cost.sample = [forward, timed, type = low_precision(config.precision)] {
    const tensor::Autocast cast(torch::kCPU, type);
    forward(timed).backward();
  };
  cost.sample_flop = static_cast<double>(timed) * cost.flop;
  return cost;
}

}  // namespace kappascope::train
