// SPDX-License-Identifier: Apache-2.0
#include "lab/nn/transformers/language_models.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/types.h>

#include <utility>

#include "kappascope/core/error.h"

namespace kappascope::nn {
namespace {

CausalLmOptions with_mlp(const LmSize& size, const GatedMlpOptions& mlp) {
  const auto attention = AttentionOptions(size.width, size.heads)
                             .kv_heads(size.kv_heads)
                             .head_width(size.head_width)
                             .rotary_base(1e4)
                             .fused(true);
  return {size.vocabulary, size.layers, TransformerBlockOptions(attention, mlp)};
}

constexpr int64_t kBytes = 256;

LmSize small(int64_t kv_heads) {
  return {.vocabulary = kBytes,
          .layers = 4,
          .width = 128,
          .heads = 4,
          .kv_heads = kv_heads,
          .hidden = 512};
}

struct Named {
  const char* name;
  CausalLmOptions (*options)();
};

const std::vector<Named>& all() {
  static const std::vector<Named> models = {
      {"qwen3-134m",
       [] {
         return qwen3(
             {.vocabulary = 27008, .layers = 12, .width = 768, .heads = 12, .hidden = 3072});
       }},
      {"phi3-mini",
       [] {
         return phi3(
             {.vocabulary = 32064, .layers = 32, .width = 3072, .heads = 32, .hidden = 8192});
       }},
      {"gemma3-1b",
       [] {
         return gemma3({.vocabulary = 262144,
                        .layers = 26,
                        .width = 1152,
                        .heads = 4,
                        .kv_heads = 1,
                        .head_width = 256,
                        .hidden = 6912},
                       /*window=*/512);
       }},
      {"qwen3-small", [] { return qwen3(small(4)); }},
      {"phi3-small", [] { return phi3(small(2)); }},
      {"gemma3-small", [] { return gemma3(small(1), /*window=*/32).global_every(4); }}};
  return models;
}

}  // namespace

CausalLmOptions llama(const LmSize& size) {
  return with_mlp(size, GatedMlpOptions(size.width, size.hidden));
}

CausalLmOptions phi3(const LmSize& size) {
  auto options = with_mlp(size, GatedMlpOptions(size.width, size.hidden).fused(true));
  options.block().attention().joint_qkv(true);
  options.block().norm().eps(1e-5);
  return options;
}

CausalLmOptions qwen3(const LmSize& size) {
  auto options = llama(size).tied(true);
  options.block().attention().qk_norm(true).rotary_base(1e6);
  return options;
}

CausalLmOptions gemma3(const LmSize& size, int64_t window, double gated_dropout) {
  auto options = with_mlp(size,
                          GatedMlpOptions(size.width, size.hidden)
                              .gate(Gate::kGegluTanh)
                              .dropout(gated_dropout)
                              .dropout_placement(DropoutPlacement::kProduct))
                     .tied(true)
                     .scaled_embeddings(true)
                     .global_every(6)
                     .local_window(window);
  options.block().order(NormOrder::kSandwich).norm().plus_one(true);
  options.block().attention().qk_norm(true).norm_plus_one(true).rotary_base(1e6);
  return options;
}

CausalLmOptions with_biases(CausalLmOptions options, BiasPlacement mlp, bool norms) {
  auto& block = options.block();
  block.mlp(with_bias(block.mlp(), mlp)).norm().bias(norms);
  return options;
}

CausalLmOptions with_feed_forward(CausalLmOptions options, const FeedForwardOptions& mlp) {
  options.block().mlp(mlp);
  return options;
}

CausalLmOptions language_model(const std::string& name) {
  for (const auto& model : all()) {
    if (name == model.name) return model.options();
  }
  throw UsageError(fmt::format(
      "unknown language model '{}': use one of {}", name, fmt::join(language_model_names(), ", ")));
}

std::vector<std::string> language_model_names() {
  std::vector<std::string> names;
  for (const auto& model : all()) names.emplace_back(model.name);
  return names;
}

}  // namespace kappascope::nn
