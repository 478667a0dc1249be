// SPDX-License-Identifier: Apache-2.0
#include "lab/nn/transformers/vit_vae.h"

#include <fmt/ranges.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/types.h>

#include "core/require.h"
#include "lab/nn/linear.h"
#include "lab/nn/transformers/initialise.h"

namespace kappascope::nn {
namespace {

NormOptions norm_options(const VitVaeOptions& options) {
  return NormOptions(options.width()).kind(NormKind::kLayer).bias(true);
}

torch::Tensor through(torch::nn::ModuleList& blocks, torch::Tensor h) {
  for (const auto& block : *blocks) h = block->as<TransformerBlock>()->forward(h);
  return h;
}

}  // namespace

TransformerBlockOptions block_options(const VitVaeOptions& options) {
  const auto attention = AttentionOptions(options.width(), options.heads())
                             .causal(false)
                             .dropout(options.dropout())
                             .fused(true);
  const auto mlp = GatedMlpOptions(options.width(), options.hidden())
                       .gate(options.gate())
                       .bias(options.bias())
                       .dropout(options.dropout());
  return TransformerBlockOptions(attention, mlp).norm(norm_options(options));
}

VitVaeImpl::VitVaeImpl(const VitVaeOptions& options_) : options(options_) {
  require(options.channels() > 0 && options.patch() > 0 && options.latent() > 0,
          "channels, patch and latent must be at least 1, got {}, {} and {}",
          options.channels(),
          options.patch(),
          options.latent());
  require(options.height() > 0 && options.image_width() > 0 &&
              options.height() % options.patch() == 0 &&
              options.image_width() % options.patch() == 0,
          "images must be whole patches of {} pixels, got {} x {}",
          options.patch(),
          options.height(),
          options.image_width());
  require(options.encoder_blocks() > 0 && options.decoder_blocks() > 0,
          "encoder and decoder need at least one block, got {} and {}",
          options.encoder_blocks(),
          options.decoder_blocks());
  require(options.latent_noise() >= 0 && options.length_weight() >= 0,
          "latent_noise and length_weight must be at least 0, got {} and {}",
          options.latent_noise(),
          options.length_weight());
  VitVaeImpl::reset();
}

void VitVaeImpl::reset() {
  const auto width = options.width(), patch = options.patch();
  const auto patches = (options.height() / patch) * (options.image_width() / patch);
  const auto pixels = options.channels() * patch * patch;
  const auto stack = [&](const char* name, int64_t blocks) {
    auto list = register_module(name, torch::nn::ModuleList());
    for (int64_t i = 0; i < blocks; ++i) list->push_back(TransformerBlock(block_options(options)));
    return list;
  };
  const auto affine = [&](const char* name, int64_t in, int64_t out) {
    return register_module(name, linear(in, out, /*bias=*/true));
  };
  const auto positions = [&](const char* name) {
    return register_parameter(name, torch::randn({patches, width}) * options.initial_deviation());
  };
  patch_embedding = affine("patch_embedding", pixels, width);
  encoder_positions = positions("encoder_positions");
  encoder = stack("encoder", options.encoder_blocks());
  encoder_norm = register_module("encoder_norm", Norm(norm_options(options)));
  to_code = affine("to_code", width, options.latent());
  from_code = affine("from_code", options.latent(), width);
  decoder_positions = positions("decoder_positions");
  decoder = stack("decoder", options.decoder_blocks());
  decoder_norm = register_module("decoder_norm", Norm(norm_options(options)));
  to_pixels = affine("to_pixels", width, pixels);
  initialise(*this, options.initial_deviation());
}

torch::Tensor VitVaeImpl::encode(const torch::Tensor& images) {
  const auto c = options.channels(), p = options.patch(), rows = options.height() / p,
             columns = options.image_width() / p;
  require(images.dim() == 4 && images.size(1) == c && images.size(2) == options.height() &&
              images.size(3) == options.image_width(),
          "the model takes images [batch, {}, {}, {}], got {}",
          c,
          options.height(),
          options.image_width(),
          images.sizes());
  const auto flat = images.reshape({-1, c, rows, p, columns, p})
                        .permute({0, 2, 4, 1, 3, 5})
                        .reshape({-1, rows * columns, c * p * p});
  const auto h = through(encoder, patch_embedding->forward(flat) + encoder_positions);
  return to_code->forward(encoder_norm->forward(h));
}

torch::Tensor VitVaeImpl::decode(const torch::Tensor& codes) {
  const auto c = options.channels(), p = options.patch(), rows = options.height() / p,
             columns = options.image_width() / p;
  require(codes.dim() == 3 && codes.size(1) == rows * columns && codes.size(2) == options.latent(),
          "the model takes codes [batch, {}, {}], got {}",
          rows * columns,
          options.latent(),
          codes.sizes());
  const auto h = through(decoder, from_code->forward(codes) + decoder_positions);
  return to_pixels->forward(decoder_norm->forward(h))
      .reshape({-1, rows, columns, c, p, p})
      .permute({0, 3, 1, 4, 2, 5})
      .reshape({-1, c, options.height(), options.image_width()});
}

torch::Tensor VitVaeImpl::noisy(const torch::Tensor& codes) const {
  if (!is_training() || options.latent_noise() == 0) return codes;
  return codes + options.latent_noise() * torch::randn_like(codes);
}

torch::Tensor VitVaeImpl::forward(const torch::Tensor& images) {
  return decode(noisy(encode(images)));
}

torch::Tensor VitVaeImpl::loss(const torch::Tensor& images) {
  const auto codes = encode(images);
  const auto error = (images - decode(noisy(codes))).square().mean().sqrt();
  return error + options.length_weight() * codes.norm(2, -1).mean();
}

}  // namespace kappascope::nn
