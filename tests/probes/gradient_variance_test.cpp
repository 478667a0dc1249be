// SPDX-License-Identifier: Apache-2.0
#include "tensor/gradient_variance.h"

#include "fixture.h"
#include "kappascope/core/statistics.h"
#include "support/catch.h"

using namespace kappascope;

TEST_CASE("the probe averages batches, and a saved one goes on") {
  torch::manual_seed(9);
  const auto phi = torch::rand({80, 6}, torch::kDouble), b = torch::randn({6}, torch::kDouble);
  const auto gamma = torch::randn({80, 3}, torch::kDouble) * phi.sum(1, true) + 0.3;
  const auto probe = probes::make_layer_probe("gradient_variance");
  const auto restored = probes::make_layer_probe("gradient_variance");
  auto view = testing::view_of(phi, b, gamma);
  view.dropout = 0.25;
  testing::observe(*probe, view);
  testing::carry_over(*probe, *restored);
  testing::observe(*restored, view);
  const auto out = testing::emitted(*restored);
  const auto v = tensor::gradient_variance(phi, gamma, b, 0.25);
  CHECK(testing::value(out, "gradvar/measured") == Approx(v.measured.value).epsilon(1e-13));
  CHECK(testing::value(out, "gradvar/published") == Approx(v.published.value).epsilon(1e-13));
  CHECK(testing::value(out, "gradvar/b_minimiser") == Approx(v.b_minimiser.value).epsilon(1e-13));
  const auto* row = testing::find(out, "gradvar/measured");
  // Two batches halve the variance of the mean.
  CHECK(*row->upper - row->value ==
        Approx(normal_quantile(0.975) * v.measured.error / std::sqrt(2.0)).epsilon(1e-12));
}

TEST_CASE("the probe writes the critical batch of its window, with the rows of a step") {
  torch::manual_seed(22);
  const auto phi = torch::rand({400, 6}) + 0.5;
  const auto gamma = torch::randn({400, 3}) + 1;
  const auto probe = probes::make_layer_probe("gradient_variance");
  for (int64_t i = 0; i < 4; ++i) {
    auto view = testing::view_of(phi.narrow(0, 100 * i, 100), {}, gamma.narrow(0, 100 * i, 100));
    view.rows_of_step = 1000;  // of which a hundred were kept
    testing::observe(*probe, view, i);
  }
  const auto out = testing::emitted(*probe);
  const auto* found = testing::find(out, "gradvar/critical_batch");
  REQUIRE(found != nullptr);
  CHECK(*found->n == 1000);
  const double v = testing::value(out, "gradvar/measured"),
               m = testing::value(out, "gradvar/zero_mean");
  CHECK(found->value == Approx(v * 100 / 99 / (m - v / 99)));
  CHECK(*found->lower < found->value);
  CHECK(*found->upper > found->value);
}
