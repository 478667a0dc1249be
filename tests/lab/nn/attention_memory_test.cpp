// SPDX-License-Identifier: Apache-2.0
// What attention holds and makes, counted.
#include <torch/types.h>
#include <torch/utils.h>

#include "lab/nn/attention.h"
#include "support/catch.h"
#include "tensor/allocations.h"

using namespace kappascope;

TEST_CASE("keys and values are not copied for the heads that share them") {
  torch::manual_seed(12);
  const torch::NoGradGuard no_grad;
  constexpr int64_t kLong = 64, kHeads = 8, kHead = 16;
  const auto x = torch::randn({2, kLong, 32});
  const auto peak = [&](bool fused, int64_t kv_heads) {
    nn::Attention layer(
        nn::AttentionOptions(32, kHeads).kv_heads(kv_heads).head_width(kHead).fused(fused));
    layer->forward(x);  // makes the tables
    const tensor::Allocations counted;
    layer->forward(x);
    return counted.peak();
  };
  // Seven of eight heads of keys and of values less.
  constexpr int64_t kSaved = int64_t{2} * 7 * 2 * kLong * kHead * 4;
  for (const bool fused : {true, false}) CHECK(peak(fused, 1) <= peak(fused, kHeads) - kSaved);
}

TEST_CASE("no table of hidden tokens is made where the fused kernel knows them") {
  torch::manual_seed(13);
  const torch::NoGradGuard no_grad;
  constexpr int64_t kLong = 512;
  const auto x = torch::randn({1, kLong, 8});
  const auto kept = [&](bool fused, int64_t window) {
    nn::Attention layer(nn::AttentionOptions(8, 1).window(window).fused(fused));
    const tensor::Allocations counted;
    layer->forward(x);
    return counted.live();
  };
  for (const int64_t window : {int64_t{0}, kLong}) {
    CHECK(kept(true, window) == 0);
    CHECK(kept(false, window) == kLong * kLong);
  }
  CHECK(kept(true, 16) == kLong * kLong);

  // A layer that is switched makes and drops it.
  nn::Attention layer(nn::AttentionOptions(8, 1).fused(true));
  const auto fused = layer->forward(x);
  nn::set_fused_attention(*layer, false);
  CHECK(torch::allclose(fused, layer->forward(x), 1e-4, 1e-5));
  nn::set_fused_attention(*layer, true);
  CHECK(torch::equal(fused, layer->forward(x)));
}
