// SPDX-License-Identifier: Apache-2.0
#include "lab/nn/feed_forward_kinds.h"

#include <torch/autograd.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "kappascope/core/error.h"
#include "lab/nn/layers.h"
#include "support/catch.h"

using namespace kappascope;
using namespace kappascope::testing;

namespace {

/// Every kind with every switch once.
std::vector<nn::FeedForwardOptions> all_kinds() {
  using nn::AsgerOptions;
  using nn::IsoGmlpOptions;
  const AsgerOptions asger(kWidth, kHidden);
  const IsoGmlpOptions iso(kWidth, kHidden);
  return {nn::GatedMlpOptions(kWidth, kHidden),
          nn::GatedMlpOptions(kWidth, kHidden).fused(true),
          asger,
          AsgerOptions(asger).spatial(false),
          AsgerOptions(asger).balanced(true).learn_alpha(true).learn_beta(true),
          iso,
          IsoGmlpOptions(iso).branch(false),
          IsoGmlpOptions(iso).layer_norm(false).iso_width(3)};
}

int64_t counted(const torch::nn::Module& module) {
  int64_t count = 0;
  for (const auto& parameter : module.parameters()) count += parameter.numel();
  return count;
}

}  // namespace

TEST_CASE(
    "every kind has the parameters it counts, a tap, a second derivative and an equal clone") {
  for (const auto& base : all_kinds()) {
    for (const auto bias : {nn::BiasPlacement::kNone,
                            nn::BiasPlacement::kBoth,
                            nn::BiasPlacement::kCentred,
                            nn::BiasPlacement::kCentredOutput}) {
      const auto options = nn::with_bias(base, bias);
      CAPTURE(base.index());
      torch::manual_seed(7);
      const auto layer = nn::make_feed_forward(options);
      const auto module = std::dynamic_pointer_cast<torch::nn::Module>(layer);
      REQUIRE(module);
      CHECK(counted(*module) == nn::parameter_count(options));
      const auto tapped = nn::find_tapped(*module);
      REQUIRE(tapped.size() == 1);
      CHECK(tapped[0].first == "down_proj");
      CHECK(tapped[0].second->weight.size(1) == nn::features_of(options));

      module->to(torch::kDouble);
      const auto x = input();
      const auto y = layer->forward(x);
      CHECK(y.sizes() == x.sizes());
      const auto first = torch::autograd::grad({y.square().sum()},
                                               module->parameters(),
                                               {},
                                               /*retain_graph=*/true,
                                               /*create_graph=*/true);
      auto length = torch::zeros({}, torch::kDouble);
      for (const auto& gradient : first) length = length + gradient.square().sum();
      for (const auto& second : torch::autograd::grad({length}, module->parameters())) {
        CHECK(second.isfinite().all().item<bool>());
      }
      const auto copy = std::dynamic_pointer_cast<nn::FeedForward>(module->clone());
      REQUIRE(copy);
      CHECK(torch::equal(copy->forward(x), y));

      // Biases start at zero and draw no random number.
      torch::manual_seed(7);
      const auto none = nn::make_feed_forward(base);
      std::dynamic_pointer_cast<torch::nn::Module>(none)->to(torch::kDouble);
      CHECK(torch::equal(none->forward(x), y));
    }
  }
}

TEST_CASE("dropout zeroes what enters the down-projection at its rate, only in training") {
  for (const nn::FeedForwardOptions& options : std::vector<nn::FeedForwardOptions>{
           nn::AsgerOptions(8, 50).dropout(0.3), nn::IsoGmlpOptions(8, 50).dropout(0.3)}) {
    torch::manual_seed(8);
    const auto layer = nn::make_feed_forward(options);
    const auto module = std::dynamic_pointer_cast<torch::nn::Module>(layer);
    nn::TapView seen;
    nn::find_tapped(*module)[0].second->tap.listen([&](const nn::TapView& v) { seen = v; });
    const auto x = torch::randn({400, 8});
    layer->forward(x);
    const double share = seen.features.eq(0).to(torch::kDouble).mean().item<double>();
    // At least 20,000 independent coins: five deviations are 0.0162 (false alarm below 1e-6).
    CHECK(share == Approx(0.3).margin(0.0162));
    CHECK(seen.dropout == 0.3);
    module->eval();
    layer->forward(x);
    CHECK(seen.features.eq(0).sum().item<int64_t>() == 0);
  }
}

TEST_CASE("feed-forward layers are made by name, and an unknown name lists them all") {
  CHECK(nn::parse_feed_forward("asger", 4, 8).index() == 1);
  CHECK(nn::parse_feed_forward("isogmlp", 4, 8).index() == 2);
  const auto geglu = nn::parse_feed_forward("geglu-tanh", 4, 8);
  CHECK(std::get<nn::GatedMlpOptions>(geglu).gate() == nn::Gate::kGegluTanh);
  CHECK(nn::width_of(geglu) == 4);
  CHECK_THROWS_AS(nn::parse_feed_forward("swish", 4, 8), UsageError);
  CHECK_THROWS_WITH(nn::parse_feed_forward("swish", 4, 8),
                    Catch::Contains("swiglu") && Catch::Contains("isogmlp"));
}
