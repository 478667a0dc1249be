// SPDX-License-Identifier: Apache-2.0
#include "lab/nn/asger.h"

#include <torch/types.h>
#include <torch/utils.h>

#include "kappascope/core/error.h"
#include "lab/nn/layers.h"
#include "support/catch.h"

using namespace kappascope;
using namespace kappascope::testing;

TEST_CASE("ASGER is equations 1 to 3 with b added, α and β fixed or learnt") {
  torch::manual_seed(1);
  for (const bool learn : {false, true}) {
    nn::Asger layer(nn::AsgerOptions(kWidth, kHidden)
                        .alpha(0.25)
                        .beta(1.5)
                        .learn_alpha(learn)
                        .learn_beta(learn)
                        .bias(nn::BiasPlacement::kPostGating));
    randomise(layer);
    const double alpha = learn ? layer->log_alpha.exp().item<double>() : 0.25;
    const double beta = learn ? layer->log_beta.exp().item<double>() : 1.5;
    CHECK((!learn || std::abs(beta - 1.5) > 1e-3));  // the weights were drawn anew, and so was β
    const auto x = input(), u = times(layer->up_proj, x);
    const auto gate =
        (1 + 2 * alpha) / (1 + torch::exp(-beta * times(layer->gate_proj, x))) - alpha;
    const auto s = times(layer->spatial_gate_proj, u);
    const auto spatial = s * torch::sigmoid(s) * times(layer->spatial_up_proj, u);
    const auto expected =
        (gate * spatial + layer->down_proj->post_gating_bias).matmul(layer->down_proj->weight.t());
    CHECK(gap(layer->forward(x), expected) < 1e-12);
  }
}

TEST_CASE("ASGER without the spatial part and with α = 0 is a GLU with a sigmoid") {
  torch::manual_seed(2);
  nn::Asger layer(nn::AsgerOptions(kWidth, kHidden).spatial(false).alpha(0));
  randomise(layer);
  const auto x = input();
  const auto glu = torch::sigmoid(times(layer->gate_proj, x)) * times(layer->up_proj, x);
  CHECK(gap(layer->forward(x), glu.matmul(layer->down_proj->weight.t())) < 1e-12);
}

TEST_CASE("a learnt α starts at its option, has the right gradient and stays positive") {
  torch::manual_seed(3);
  nn::Asger learnt(nn::AsgerOptions(kWidth, kHidden).alpha(0.5).learn_alpha(true));
  torch::manual_seed(3);
  nn::Asger fixed(nn::AsgerOptions(kWidth, kHidden).alpha(0.5));
  const auto x = torch::randn({3, kWidth});
  CHECK(torch::allclose(learnt->forward(x), fixed->forward(x)));
  CHECK(learnt->log_alpha.scalar_type() == torch::kFloat);

  learnt->to(torch::kDouble);
  const auto y = torch::randn({3, kWidth}, torch::kDouble);
  const auto loss = [&] { return learnt->forward(y).square().sum(); };
  loss().backward();
  const double step = 1e-5, slope = learnt->log_alpha.grad().item<double>();
  const torch::NoGradGuard no_grad;
  learnt->log_alpha.add_(step);
  const double above = loss().item<double>();
  learnt->log_alpha.sub_(2 * step);
  const double below = loss().item<double>();
  CHECK((above - below) / (2 * step) == Approx(slope).epsilon(1e-6));
}

TEST_CASE("the balanced width is the largest that spends no more than the gated MLP") {
  const auto count = [](int64_t d, int64_t f) { return 3 * d * f + 2 * f * f; };
  CHECK(nn::asger_hidden(nn::AsgerOptions(768, 3072).balanced(true)) == 1391);
  CHECK(nn::asger_hidden(nn::AsgerOptions(768, 3072)) == 3072);
  CHECK(nn::asger_hidden(nn::AsgerOptions(768, 3072).balanced(true).spatial(false)) == 3072);
  for (const auto& [d, hidden] : std::vector<std::pair<int64_t, int64_t>>{
           {2, 4}, {4, 9}, {64, 172}, {4096, 11008}, {1, 1000000}}) {
    const auto f = nn::asger_hidden(nn::AsgerOptions(d, hidden).balanced(true));
    CAPTURE(d, hidden, f);
    CHECK(count(d, f) <= 3 * d * hidden);
    CHECK(count(d, f + 1) > 3 * d * hidden);
  }
  CHECK_THROWS_WITH(nn::Asger(nn::AsgerOptions(1, 1).balanced(true)),
                    Catch::Contains("no balanced width"));
}

TEST_CASE("invalid ASGER options are refused with the rule") {
  CHECK_THROWS_WITH(nn::Asger(nn::AsgerOptions(4, 8).alpha(-1)), Catch::Contains("got -1 and 1"));
  CHECK_THROWS_WITH(nn::Asger(nn::AsgerOptions(4, 8).alpha(0).learn_alpha(true)),
                    Catch::Contains("above 0"));
  CHECK_THROWS_WITH(nn::Asger(nn::AsgerOptions(4, 0)), Catch::Contains("got 4 and 0"));
}
