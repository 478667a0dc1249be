// SPDX-License-Identifier: Apache-2.0
#include "lab/nn/gated_mlp.h"

#include <torch/types.h>
#include <torch/utils.h>

#include "kappascope/core/error.h"
#include "support/catch.h"

using namespace kappascope;

namespace {

at::Tensor by_hand(nn::GatedMlp& layer,
                   const at::Tensor& x,
                   const std::function<at::Tensor(const at::Tensor&)>& gate) {
  const auto u = x.matmul(layer->up_proj->weight.t()), g = x.matmul(layer->gate_proj->weight.t());
  auto y = u * gate(g);
  if (layer->down_proj->post_gating_bias.defined()) y = y + layer->down_proj->post_gating_bias;
  auto z = y.matmul(layer->down_proj->weight.t());
  return layer->down_proj->bias.defined() ? z + layer->down_proj->bias : z;
}

}  // namespace

TEST_CASE("each gate computes equations 1 to 4") {
  const std::vector<std::pair<const char*, std::function<at::Tensor(const at::Tensor&)>>> gates = {
      {"swiglu", [](const at::Tensor& g) { return g * torch::sigmoid(g); }},
      {"geglu", [](const at::Tensor& g) { return g * 0.5 * (1 + torch::erf(g / std::sqrt(2.0))); }},
      {"geglu-tanh",
       [](const at::Tensor& g) {
         return g * 0.5 * (1 + torch::tanh(std::sqrt(2 / M_PI) * (g + 0.044715 * g.pow(3))));
       }},
      {"reglu", [](const at::Tensor& g) { return g.clamp_min(0); }},
      {"bilinear", [](const at::Tensor& g) { return g; }}};
  for (const auto& [name, gate] : gates) {
    CAPTURE(name);
    nn::GatedMlp layer(
        nn::GatedMlpOptions(5, 7).gate(nn::parse_gate(name)).bias(nn::BiasPlacement::kBoth));
    layer->to(torch::kDouble);
    torch::NoGradGuard no_grad;
    layer->down_proj->post_gating_bias.normal_();
    layer->down_proj->bias.normal_();
    const auto x = torch::randn({6, 5}, torch::kDouble);
    CHECK(torch::allclose(layer->forward(x), by_hand(layer, x, gate), 1e-12, 1e-12));
  }
}

TEST_CASE("who watches sees what enters the gate") {
  for (const bool fused : {false, true}) {
    nn::GatedMlp layer(nn::GatedMlpOptions(5, 7).fused(fused));
    nn::TapView seen;
    layer->down_proj->tap.listen([&](const nn::TapView& view) { seen = view; });
    const auto x = torch::randn({6, 5});
    layer->forward(x);
    const auto weight =
        fused ? layer->gate_up_proj->weight.slice(0, 0, 7) : layer->gate_proj->weight;
    CHECK(torch::allclose(seen.gate_inputs, x.matmul(weight.t())));
  }
}

TEST_CASE("the four bias placements have the parameters they say, and share every other weight") {
  std::vector<at::Tensor> weights;
  for (const auto* name : {"none", "post-gating", "output", "both"}) {
    torch::manual_seed(3);
    nn::GatedMlp layer(nn::GatedMlpOptions(4, 6).bias(nn::parse_bias_placement(name)));
    const std::string text = name;
    CHECK(layer->down_proj->post_gating_bias.defined() ==
          (text == "post-gating" || text == "both"));
    CHECK(layer->down_proj->bias.defined() == (text == "output" || text == "both"));
    weights.push_back(torch::cat({layer->up_proj->weight.flatten(),
                                  layer->gate_proj->weight.flatten(),
                                  layer->down_proj->weight.flatten(),
                                  torch::rand({3})}));  // the random state after it is the same too
    CHECK(torch::equal(weights.front(), weights.back()));
  }
}

TEST_CASE("one matrix for gate and up is the two of them, at one seed and with one gradient") {
  for (const auto gate : {nn::Gate::kSwiglu, nn::Gate::kBilinear}) {
    torch::manual_seed(5);
    nn::GatedMlp two(nn::GatedMlpOptions(4, 6).gate(gate));
    torch::manual_seed(5);
    nn::GatedMlp one(nn::GatedMlpOptions(4, 6).gate(gate).fused(true));
    CHECK(torch::equal(one->gate_up_proj->weight,
                       torch::cat({two->gate_proj->weight, two->up_proj->weight})));
    two->to(torch::kDouble);
    one->to(torch::kDouble);
    const auto x = torch::randn({3, 4}, torch::kDouble);
    const auto y = two->forward(x), z = one->forward(x);
    CHECK(torch::allclose(y, z, 1e-13, 1e-13));
    y.square().sum().backward();
    z.square().sum().backward();
    CHECK(torch::allclose(one->gate_up_proj->weight.grad(),
                          torch::cat({two->gate_proj->weight.grad(), two->up_proj->weight.grad()}),
                          1e-12,
                          1e-13));
  }
}

TEST_CASE("a gated MLP has Hugging Face's parameter names") {
  const auto names = [](const nn::GatedMlpOptions& options) {
    std::vector<std::string> out;
    for (const auto& item : nn::GatedMlp(options)->named_parameters()) out.push_back(item.key());
    return out;
  };
  using Names = std::vector<std::string>;
  CHECK(names(nn::GatedMlpOptions(2, 3)) ==
        Names{"gate_proj.weight", "up_proj.weight", "down_proj.weight"});
  CHECK(names(nn::GatedMlpOptions(2, 3).fused(true)) ==
        Names{"gate_up_proj.weight", "down_proj.weight"});
}

TEST_CASE("a post-gating bias of zero, and a dropout of zero, change nothing") {
  torch::manual_seed(6);
  nn::GatedMlp none(nn::GatedMlpOptions(4, 6));
  torch::manual_seed(6);
  nn::GatedMlp zero(nn::GatedMlpOptions(4, 6).bias(nn::BiasPlacement::kBoth));
  const auto x = torch::randn({3, 4});
  CHECK(torch::equal(none->forward(x), zero->forward(x)));
}

TEST_CASE("dropout zeroes features at its rate on U or on the product, only in training") {
  for (const auto placement : {nn::DropoutPlacement::kUp, nn::DropoutPlacement::kProduct}) {
    torch::manual_seed(4);
    nn::GatedMlp layer(nn::GatedMlpOptions(8, 50).dropout(0.3).dropout_placement(placement));
    at::Tensor phi;
    layer->down_proj->tap.listen([&](const nn::TapView& view) { phi = view.features.detach(); });
    const auto x = torch::randn({400, 8});
    layer->forward(x);
    const double share = phi.eq(0).to(torch::kDouble).mean().item<double>();
    // 20,000 independent coins: five standard deviations are 0.0162 (false alarm below 1e-6).
    CHECK(share == Approx(0.3).margin(0.0162));
    layer->eval();
    layer->forward(x);
    CHECK(phi.eq(0).sum().item<int64_t>() == 0);
  }
}

TEST_CASE("invalid options are refused with the rule") {
  CHECK_THROWS_WITH(nn::GatedMlp(nn::GatedMlpOptions(4, 0)),
                    Catch::Contains("at least 1, got 4 and 0"));
  CHECK_THROWS_WITH(nn::GatedMlp(nn::GatedMlpOptions(4, 4).dropout(1.0)),
                    Catch::Contains("[0, 1)"));
  CHECK_THROWS_AS(nn::parse_gate("swish"), UsageError);
  CHECK_THROWS_AS(nn::parse_bias_placement("pgb"), UsageError);
  CHECK_THROWS_AS(nn::parse_dropout_placement("down"), UsageError);
}
