// SPDX-License-Identifier: Apache-2.0
#include "lab/nn/mlp_stack.h"

#include <torch/types.h>
#include <torch/utils.h>

#include "kappascope/core/error.h"
#include "support/catch.h"

using namespace kappascope;

TEST_CASE("a stack has the number of parameters that its shapes imply") {
  nn::MlpStack model(
      nn::MlpStackOptions(10, 3).width(4).hidden(6).blocks(2).bias(nn::BiasPlacement::kBoth));
  int64_t count = 0;
  for (const auto& p : model->parameters()) count += p.numel();
  CHECK(count == (10 * 4 + 4) + 2 * (3 * 4 * 6 + 6 + 4) + (4 * 3 + 3));
  CHECK(model->forward(torch::randn({5, 10})).sizes() == at::IntArrayRef({5, 3}));
}

TEST_CASE("a residual stack whose down-projections are zero is affine, a plain one is constant") {
  for (const bool residual : {true, false}) {
    nn::MlpStack model(nn::MlpStackOptions(5, 2).blocks(2).residual(residual));
    torch::NoGradGuard no_grad;
    for (auto& [name, down] : nn::find_tapped(*model)) down->weight.zero_();
    const auto x = torch::randn({3, 5});
    const auto want = residual ? model->head->forward(model->embed->forward(x))
                               : model->head->bias.expand({3, 2});
    CHECK(torch::allclose(model->forward(x), want));
  }
}

TEST_CASE("without an embedding the first gated layer takes the inputs, and has no residual path") {
  for (const bool residual : {true, false}) {
    nn::MlpStack model(
        nn::MlpStackOptions(10, 3).width(4).hidden(6).blocks(2).embedding(false).residual(
            residual));
    int64_t count = 0;
    for (const auto& p : model->parameters()) count += p.numel();
    CHECK(count == (2 * 10 * 6 + 6 * 4) + 3 * 4 * 6 + (4 * 3 + 3));
    CHECK_FALSE(model->named_parameters().contains("embed.weight"));
    const auto x = torch::randn({5, 10});
    const auto first = model->blocks[0]->as<nn::GatedMlp>()->forward(x);
    const auto second = model->blocks[1]->as<nn::GatedMlp>()->forward(first);
    const auto want = model->head->forward(residual ? first + second : second);
    CHECK(torch::allclose(model->forward(x), want));
  }
}

TEST_CASE("a stack without blocks or width is refused") {
  CHECK_THROWS_AS(nn::MlpStack(nn::MlpStackOptions(5, 2).blocks(0)), Error);
  CHECK_THROWS_AS(nn::MlpStack(nn::MlpStackOptions(5, 2).width(0)), Error);
}

TEST_CASE("every bias placement can be cloned in the same order, and the copy's taps are silent") {
  for (const auto* name : {"none", "post-gating", "output", "both"}) {
    nn::MlpStack model(nn::MlpStackOptions(5, 2).bias(nn::parse_bias_placement(name)));
    int heard = 0;
    for (const auto& [layer, down] : nn::find_tapped(*model))
      down->tap.listen([&](const nn::TapView&) { ++heard; });
    const auto copy = std::dynamic_pointer_cast<nn::MlpStackImpl>(model->clone());
    const auto x = torch::randn({3, 5});
    CHECK(torch::equal(copy->forward(x), model->forward(x)));
    CHECK(heard == 2);  // the original's two layers only
    CHECK(copy->named_parameters().keys() == model->named_parameters().keys());
  }
}
