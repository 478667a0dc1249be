// SPDX-License-Identifier: Apache-2.0
#include <torch/types.h>

#include "fixture.h"
#include "kappascope/tensor/learning.h"
#include "support/catch.h"

using namespace kappascope;
using testing::emitted;
using testing::value;

namespace {

/// Sequences of 8 tokens, with a mean.
session::LayerView view_of(int64_t sequences, int64_t d, const at::Tensor& bias = {}) {
  auto view = testing::view_of(
      torch::randn({8 * sequences, d}, torch::kDouble) / torch::arange(1, d + 1).sqrt() + 0.5,
      bias);
  view.rows_per_group = 8;
  return view;
}

}  // namespace

TEST_CASE("the probe writes the learning times of the rows of its window") {
  torch::manual_seed(1);
  const auto bias = torch::full({12}, -0.3, torch::kDouble);
  const auto first = view_of(40, 12, bias), second = view_of(40, 12, bias);
  const auto probe = probes::make_layer_probe("learning");
  testing::observe(*probe, first);
  testing::observe(*probe, second);
  const auto out = emitted(*probe);
  const auto found = tensor::learning(
      torch::cat({first.features, second.features}), std::vector<int64_t>(80, 8), bias);
  CHECK(value(out, "learning/sigma") == found.sigma.ninety.value);
  CHECK(value(out, "learning/second_moment") == found.second_moment.ninety.value);
  CHECK(value(out, "learning/with_bias") == found.with_bias.ninety.value);
  CHECK(value(out, "learning/sigma_half") == found.sigma.half.value);
  CHECK(value(out, "learning/mean_costs") == found.mean_costs.value);
  CHECK(value(out, "learning/bias_leaves") == found.bias_leaves.value);
  CHECK(value(out, "learning/bias_changes") == found.bias_changes.value);
  const auto* sigma = testing::find(out, "learning/sigma");
  CHECK(*sigma->lower == found.sigma.ninety.lower);
  CHECK(*sigma->upper == found.sigma.ninety.upper);
  CHECK(*sigma->n == 640);
  CHECK(*sigma->n_effective == 80);
  CHECK(sigma->status == "resolved");
}

TEST_CASE("a window has no memory of the one before, and a layer without b none of b") {
  torch::manual_seed(2);
  const auto probe = probes::make_layer_probe("learning");
  testing::observe(*probe, view_of(40, 6));
  CHECK(testing::find(emitted(*probe), "learning/with_bias") == nullptr);
  CHECK(emitted(*probe).scalars.empty());
}

TEST_CASE("few sequences say that they do not tell") {
  torch::manual_seed(3);
  const auto probe = probes::make_layer_probe("learning");
  testing::observe(*probe, view_of(3, 6));
  const auto out = emitted(*probe);
  CHECK(testing::find(out, "learning/sigma")->status == "not_resolvable");
  CHECK(std::isnan(value(out, "learning/sigma")));
  CHECK(testing::find(out, "learning/mean_costs") == nullptr);
}

TEST_CASE("a narrow layer keeps at most 1,024 rows of many") {
  torch::manual_seed(4);
  const auto probe = probes::make_layer_probe("learning");
  for (int i = 0; i < 5; ++i) testing::observe(*probe, view_of(160, 6));
  const auto out = emitted(*probe);
  CHECK(*testing::find(out, "learning/sigma")->n <= 1024);
  CHECK(*testing::find(out, "learning/sigma")->n_effective == 800);
}

TEST_CASE("a restored probe gives the same bits") {
  torch::manual_seed(5);
  const auto first = view_of(300, 6), second = view_of(300, 6);
  const auto whole = probes::make_layer_probe("learning");
  const auto begun = probes::make_layer_probe("learning");
  const auto restored = probes::make_layer_probe("learning");
  for (auto* probe : {whole.get(), begun.get()}) testing::observe(*probe, first);
  restored->load(begun->state());
  for (auto* probe : {whole.get(), restored.get()}) testing::observe(*probe, second);
  CHECK(value(emitted(*whole), "learning/sigma") == value(emitted(*restored), "learning/sigma"));
}
