// SPDX-License-Identifier: Apache-2.0
#include "lab/nn/iso_gmlp.h"

#include <torch/types.h>
#include <torch/utils.h>

#include "kappascope/core/error.h"
#include "lab/nn/gated_mlp.h"
#include "lab/nn/layers.h"
#include "support/catch.h"

using namespace kappascope;
using namespace kappascope::testing;

TEST_CASE("IsoGMLP is equations 1 to 3 with b added, and its tap sees both paths") {
  torch::manual_seed(4);
  for (const bool norm : {true, false}) {
    nn::IsoGmlp layer(nn::IsoGmlpOptions(kWidth, kHidden)
                          .iso_width(3)
                          .layer_norm(norm)
                          .bias(nn::BiasPlacement::kPostGating));
    randomise(layer);
    const auto x = input(), g = times(layer->gate_proj, x);
    const auto geglu = times(layer->up_proj, x) * 0.5 * g * (1 + torch::erf(g / std::sqrt(2.0)));
    auto z = times(layer->iso_proj, x);
    if (norm) {
      const auto centred = z - z.mean(-1, true);
      z = centred / (centred.square().mean(-1, true) + 1e-5).sqrt() * layer->iso_norm->weight +
          layer->iso_norm->bias;
    }
    const auto phi = torch::cat({geglu, z * torch::sigmoid(layer->temperature)}, -1);
    nn::TapView seen;
    layer->down_proj->tap.listen([&](const nn::TapView& view) { seen = view; });
    const auto expected =
        (phi + layer->down_proj->post_gating_bias).matmul(layer->down_proj->weight.t());
    CHECK(gap(layer->forward(x), expected) < 1e-12);
    CHECK(gap(seen.features, phi) < 1e-12);
    CHECK(seen.branch == 3);
  }
}

TEST_CASE("IsoGMLP without its branch is a GEGLU") {
  torch::manual_seed(5);
  nn::IsoGmlp iso(nn::IsoGmlpOptions(kWidth, kHidden).branch(false));
  nn::GatedMlp geglu(nn::GatedMlpOptions(kWidth, kHidden).gate(nn::Gate::kGeglu));
  const torch::NoGradGuard no_grad;
  for (const auto& item : iso->named_parameters()) {
    geglu->named_parameters()[item.key()].copy_(item.value());
  }
  const auto x = torch::randn({3, kWidth});
  CHECK(iso->parameters().size() == 3);
  CHECK(torch::equal(iso->forward(x), geglu->forward(x)));
}

TEST_CASE("IsoGMLP starts orthogonal where asked, its branch an eighth wide, t at its option") {
  torch::manual_seed(6);
  const auto departure = [](const at::Tensor& w) {
    const auto gram = w.size(0) < w.size(1) ? w.matmul(w.t()) : w.t().matmul(w);
    return gap(gram, torch::eye(gram.size(0)));
  };
  nn::IsoGmlp layer(nn::IsoGmlpOptions(16, 64));
  CHECK(layer->iso_proj->weight.size(0) == 8);
  CHECK(layer->temperature.item<float>() == 1);
  CHECK(layer->temperature.scalar_type() == torch::kFloat);
  nn::IsoGmlp plain(nn::IsoGmlpOptions(16, 64).orthogonal(false));
  for (const auto& item : layer->named_parameters()) {
    if (item.value().dim() != 2) continue;
    CAPTURE(item.key());
    CHECK(departure(item.value()) < 1e-5);
    CHECK(departure(plain->named_parameters()[item.key()]) > 0.1);
  }
}

TEST_CASE("a scaled start is normal, with the variance of an orthogonal one") {
  torch::manual_seed(7);
  nn::IsoGmlp scaled(nn::IsoGmlpOptions(64, 256).orthogonal(false).scaled(true)),
      orthogonal(nn::IsoGmlpOptions(64, 256));
  for (const auto& item : orthogonal->named_parameters()) {
    if (item.value().dim() != 2) continue;
    CAPTURE(item.key());
    const auto other = scaled->named_parameters()[item.key()];
    // At least 2,048 entries: five standard errors of a deviation are 7.8 %.
    CHECK(other.std().item<double>() == Approx(item.value().std().item<double>()).epsilon(0.08));
    CHECK(gap(other.t().matmul(other), item.value().t().matmul(item.value())) > 0.1);
  }
  CHECK_THROWS_WITH(nn::IsoGmlp(nn::IsoGmlpOptions(4, 8).scaled(true)),
                    Catch::Contains("not both"));
}

TEST_CASE("invalid IsoGMLP options are refused with the rule") {
  CHECK_THROWS_WITH(nn::IsoGmlp(nn::IsoGmlpOptions(4, 8).iso_width(-1)), Catch::Contains("got -1"));
  CHECK_THROWS_WITH(nn::IsoGmlp(nn::IsoGmlpOptions(4, 8).dropout(1)), Catch::Contains("[0, 1)"));
}
