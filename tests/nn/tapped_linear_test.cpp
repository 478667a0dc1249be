// SPDX-License-Identifier: Apache-2.0
#include "kappascope/nn/tapped_linear.h"

#include <torch/nn/modules/linear.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "kappascope/core/error.h"
#include "support/catch.h"
#include "support/gated_stack.h"

using namespace kappascope;

TEST_CASE("a TappedLinear starts and computes as torch::nn::Linear does") {
  torch::manual_seed(1);
  torch::nn::Linear plain(5, 3);
  torch::manual_seed(1);
  nn::TappedLinear tapped(5, 3);
  CHECK(torch::equal(plain->weight, tapped->weight));
  CHECK(torch::equal(plain->bias, tapped->bias));
  const auto x = torch::randn({4, 5});
  CHECK(torch::equal(plain->forward(x), tapped->forward(x)));
}

TEST_CASE("the post-gating bias is added to the input") {
  nn::TappedLinear layer(nn::TappedLinearOptions(4, 2).bias(false).post_gating_bias(true));
  torch::NoGradGuard no_grad;
  layer->post_gating_bias.copy_(torch::tensor({1.f, 2.f, 3.f, 4.f}));
  const auto x = torch::randn({3, 4});
  CHECK(
      torch::allclose(layer->forward(x), (x + layer->post_gating_bias).matmul(layer->weight.t())));
}

TEST_CASE("a tap sees features, bias and output, and changes nothing") {
  nn::TappedLinear layer(nn::TappedLinearOptions(4, 2).post_gating_bias(true).dropout(0.25));
  const auto x = torch::randn({3, 4});
  const auto quiet = layer->forward(x);
  nn::TapView seen;
  layer->tap.listen([&](const nn::TapView& view) { seen = view; });
  const auto watched = layer->forward(x);
  CHECK(torch::equal(quiet, watched));
  CHECK(torch::equal(seen.features, x));
  CHECK(torch::equal(seen.output, watched));
  CHECK(torch::equal(seen.bias, layer->post_gating_bias));
  CHECK(torch::equal(seen.weight, layer->weight));
  CHECK(seen.branch == 0);
  CHECK(seen.dropout == 0.25);
  CHECK_FALSE(seen.gate_inputs.defined());
  layer->eval();
  layer->forward(x);
  CHECK(seen.dropout == 0);
  seen = {};
  layer->tap.silence();
  layer->forward(x);
  CHECK_FALSE(seen.features.defined());
}

TEST_CASE("what enters the gate is shown with the next pass alone, where somebody listens") {
  nn::TappedLinear layer(4, 2);
  const auto x = torch::randn({3, 4}), g = torch::randn({3, 4});
  layer->show_gates(g);
  nn::TapView seen;
  layer->tap.listen([&](const nn::TapView& view) { seen = view; });
  layer->forward(x);
  CHECK_FALSE(seen.gate_inputs.defined());  // nobody listened
  layer->show_gates(g);
  layer->forward(x);
  CHECK(torch::equal(seen.gate_inputs, g));
  layer->forward(x);
  CHECK_FALSE(seen.gate_inputs.defined());
}

TEST_CASE(
    "a centred bias is no parameter, and features add up in training passes that are asked for") {
  nn::TappedLinear layer(
      nn::TappedLinearOptions(4, 2).bias(false).post_gating_bias(true).centred(true));
  CHECK(layer->parameters().size() == 1);
  CHECK(layer->named_buffers().contains("post_gating_bias"));
  CHECK_THROWS_WITH(nn::TappedLinear(nn::TappedLinearOptions(4, 2).centred(true)),
                    Catch::Contains("nothing that centres"));
  const auto x = torch::randn({3, 5, 4}), y = torch::randn({4});
  layer->forward(x);
  CHECK(torch::equal(layer->take_sums(), torch::zeros({5}, torch::kDouble)));
  layer->gather_mean(true);
  layer->forward(x);
  layer->forward(y);
  layer->eval();
  layer->forward(x);
  const auto sums = layer->take_sums();
  CHECK(sums[-1].item<double>() == 16);
  CHECK(torch::allclose(sums.slice(0, 0, 4), x.to(torch::kDouble).view({15, 4}).sum(0) + y));
  layer->train();
  layer->gather_mean(false);
  layer->forward(x);
  CHECK(layer->take_sums().sum().item<double>() == 0);
}

TEST_CASE("every tapped layer of a model is found with its dotted name") {
  testing::GatedStack model(testing::GatedStackOptions(6, 3).blocks(2));
  const auto found = nn::find_tapped(*model);
  REQUIRE(found.size() == 2);
  CHECK(found[0].first == "blocks.0.down_proj");
  CHECK(found[1].first == "blocks.1.down_proj");
}

TEST_CASE("a layer of zero width is refused") {
  CHECK_THROWS_AS(nn::TappedLinear(0, 3), Error);
}
