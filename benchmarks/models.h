// SPDX-License-Identifier: Apache-2.0
// The two models that the limits are stated for.
#pragma once

#include <torch/nn/functional/loss.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <functional>
#include <memory>
#include <string>

#include "lab/nn/mlp_stack.h"

namespace kappascope::benchmarks {

/// A training problem: a model, a batch, its loss, and the outputs [rows, classes] beneath.
struct Problem {
  std::shared_ptr<torch::nn::Module> model;
  std::function<at::Tensor()> loss;
  std::function<at::Tensor()> outputs;
};

/// Residual gated MLP: 3 blocks, width 256, d_ff 512, batch 1,024 of 784 inputs, 10 classes.
inline Problem residual_mlp() {
  torch::manual_seed(1);
  nn::MlpStack model(nn::MlpStackOptions(784, 10).width(256).hidden(512).blocks(3).bias(
      nn::BiasPlacement::kPostGating));
  const auto x = torch::rand({1024, 784});
  const auto y = torch::randint(10, {1024}, torch::kLong);
  std::function<at::Tensor()> outputs = [model, x]() mutable { return model->forward(x); };
  return {model.ptr(),
          [outputs, y] { return torch::nn::functional::cross_entropy(outputs(), y); },
          outputs};
}

/// One pre-norm block with attention written out (fused attention has no second derivative).
class LmBlockImpl : public torch::nn::Module {
 public:
  LmBlockImpl()
      : qkv(register_module(
            "qkv", torch::nn::Linear(torch::nn::LinearOptions(kWidth, 3 * kWidth).bias(false)))),
        out(register_module(
            "out", torch::nn::Linear(torch::nn::LinearOptions(kWidth, kWidth).bias(false)))),
        mlp(register_module(
            "mlp",
            nn::GatedMlp(nn::GatedMlpOptions(kWidth, 768).bias(nn::BiasPlacement::kPostGating)))),
        attention_norm(register_parameter("attention_norm", torch::ones({kWidth}))),
        mlp_norm(register_parameter("mlp_norm", torch::ones({kWidth}))) {}

  torch::Tensor forward(torch::Tensor h) {
    const auto batch = h.size(0), tokens = h.size(1);
    const auto parts = qkv->forward(normed(h, attention_norm))
                           .view({batch, tokens, 3, kHeads, kWidth / kHeads})
                           .permute({2, 0, 3, 1, 4});
    const auto mask = torch::ones({tokens, tokens}, torch::kBool).triu(1);
    auto scores = parts[0].matmul(parts[1].transpose(-2, -1)) /
                  std::sqrt(static_cast<double>(kWidth) / kHeads);
    const auto p = torch::softmax(scores.masked_fill(mask, -1e9), -1);
    h = h + out->forward(p.matmul(parts[2]).transpose(1, 2).reshape({batch, tokens, kWidth}));
    return h + mlp->forward(normed(h, mlp_norm));
  }

 private:
  static constexpr int64_t kWidth = 256, kHeads = 4;
  static torch::Tensor normed(const torch::Tensor& h, const torch::Tensor& weight) {
    return h * torch::rsqrt(h.square().mean(-1, true) + 1e-6) * weight;
  }
  torch::nn::Linear qkv, out;
  nn::GatedMlp mlp;
  torch::Tensor attention_norm, mlp_norm;
};
TORCH_MODULE(LmBlock);

/// Gated language-model stack: 4 layers, d = 256, d_ff = 768, 8 sequences of 128 bytes.
class LmStackImpl : public torch::nn::Module {
 public:
  LmStackImpl()
      : embed(register_module("embed", torch::nn::Embedding(256, 256))),
        positions(register_parameter("positions", torch::randn({128, 256}) * 0.02)),
        blocks(register_module("blocks", torch::nn::ModuleList())),
        head(register_module("head",
                             torch::nn::Linear(torch::nn::LinearOptions(256, 256).bias(false)))) {
    for (int i = 0; i < 4; ++i) blocks->push_back(LmBlock());
  }
  torch::Tensor forward(const torch::Tensor& tokens) {
    auto h = embed->forward(tokens) + positions;
    for (const auto& block : *blocks) h = block->as<LmBlock>()->forward(h);
    return head->forward(h);
  }

 private:
  torch::nn::Embedding embed;
  torch::Tensor positions;
  torch::nn::ModuleList blocks;
  torch::nn::Linear head;
};
TORCH_MODULE(LmStack);

inline Problem lm_stack() {
  torch::manual_seed(1);
  LmStack model;
  const auto tokens = torch::randint(256, {8, 129}, torch::kLong);
  const auto x = tokens.narrow(1, 0, 128), y = tokens.narrow(1, 1, 128).reshape(-1);
  std::function<at::Tensor()> outputs = [model, x]() mutable {
    return model->forward(x).reshape({-1, 256});
  };
  return {model.ptr(),
          [outputs, y] { return torch::nn::functional::cross_entropy(outputs(), y); },
          outputs};
}

inline Problem problem(const std::string& name) {
  return name == "mlp" ? residual_mlp() : lm_stack();
}

}  // namespace kappascope::benchmarks
