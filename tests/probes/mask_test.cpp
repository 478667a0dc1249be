// SPDX-License-Identifier: Apache-2.0
// Rows that are masked out leave every probe as if they had never been there.
#include "fixture.h"
#include "support/catch.h"

using namespace kappascope;

namespace {

/// Sequences of 5 tokens of which the first `kept` count.
session::LayerView masked(const at::Tensor& phi, const at::Tensor& gamma, int64_t kept) {
  auto view = testing::view_of(phi, {}, gamma);
  view.rows_per_group = 5;
  view.mask = torch::arange(5).lt(kept).repeat({phi.size(0) / 5});
  return view;
}

store::Snapshot shown(const std::string& name, const session::LayerView& view) {
  const auto probe = probes::make_layer_probe(name);
  testing::observe(*probe, view);
  return testing::emitted(*probe);
}

void check_same(const std::string& probe,
                const session::LayerView& a,
                const session::LayerView& b) {
  const auto x = shown(probe, a), y = shown(probe, b);
  REQUIRE(x.scalars.size() == y.scalars.size());
  REQUIRE_FALSE(x.scalars.empty());
  for (std::size_t i = 0; i < x.scalars.size(); ++i) {
    CAPTURE(x.scalars[i].name);
    CHECK(x.scalars[i].status == y.scalars[i].status);
    if (std::isnan(y.scalars[i].value)) {
      CHECK(std::isnan(x.scalars[i].value));
      continue;
    }
    CHECK(x.scalars[i].value == Approx(y.scalars[i].value).epsilon(1e-5));
    if (x.scalars[i].upper && std::isfinite(*x.scalars[i].upper))
      CHECK(*x.scalars[i].upper == Approx(*y.scalars[i].upper).epsilon(1e-4));
  }
}

}  // namespace

TEST_CASE("rows that are masked out do not enter any layer probe") {
  torch::manual_seed(3);
  const auto phi = torch::randn({200, 4}) + 1, gamma = torch::randn({200, 3});
  auto with_mask = masked(phi, gamma, 3);
  auto without = testing::view_of(phi.index({with_mask.mask}), {}, gamma.index({with_mask.mask}));
  without.rows_per_group = 3;
  with_mask.bias = without.bias = torch::randn({4});
  // What does not count may hold anything that is finite.
  with_mask.features = phi.masked_fill(~with_mask.mask.unsqueeze(1), 1e3);
  check_same("features", with_mask, without);
  check_same("intercept", with_mask, without);
  check_same("gradient_variance", with_mask, without);
}

TEST_CASE("a pass of which no row counts adds nothing") {
  torch::manual_seed(3);
  const auto phi = torch::randn({20, 4}), gamma = torch::randn({20, 3});
  auto none = masked(phi, gamma, 0);
  none.bias = torch::randn({4});
  CHECK(shown("gradient_variance", none).scalars.empty());
  CHECK(shown("intercept", none).scalars.empty());
}
