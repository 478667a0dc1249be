// SPDX-License-Identifier: Apache-2.0
#include "fixture.h"
#include "support/catch.h"

using namespace kappascope;
using testing::value;

namespace {

store::Snapshot measure(const at::Tensor& phi, const at::Tensor& b) {
  const auto probe = probes::make_layer_probe("intercept");
  for (const auto& part : phi.split(50)) testing::observe(*probe, testing::view_of(part, b));
  return testing::emitted(*probe);
}

}  // namespace

TEST_CASE("b = -μ absorbs all, b = 0 nothing, b = μ doubles the mean") {
  torch::manual_seed(1);
  const auto phi = torch::randn({200, 5}, torch::kDouble) + 3;
  const auto mu = phi.mean(0);
  const auto all = measure(phi, -mu);
  CHECK(value(all, "bias/cos") == Approx(1));
  CHECK(value(all, "bias/residual") == Approx(0).margin(1e-12));
  const auto none = measure(phi, torch::zeros({5}, torch::kDouble));
  CHECK(value(none, "bias/residual") == Approx(1));
  CHECK(testing::find(none, "bias/cos")->status == "undefined");
  CHECK(std::isnan(value(none, "bias/cos")));
  const auto doubled = measure(phi, mu);
  CHECK(value(doubled, "bias/cos") == Approx(-1));
  CHECK(value(doubled, "bias/residual") == Approx(2));
  CHECK(value(doubled, "bias/norm") == Approx(mu.norm().item<double>()));
}

TEST_CASE(
    "the intervals cover the population's values at their rate, for correlated features and "
    "sequences") {
  torch::manual_seed(2);
  const auto b = torch::tensor({-1.0, 0.5, -2.0}, torch::kDouble);
  const auto mu = torch::tensor({2.0, 1.0, 3.0}, torch::kDouble);
  const double truth = (mu + b).norm().item<double>() / mu.norm().item<double>();
  const double cosine = -(b.dot(mu) / (b.norm() * mu.norm())).item<double>();
  // Features that move together: their variances alone say little of the error of a direction.
  const auto mix =
      torch::tensor({{2.0, 0.0, 0.0}, {1.9, 0.3, 0.0}, {1.8, 0.0, 0.4}}, torch::kDouble);
  for (const int64_t tokens : {1, 5}) {
    CAPTURE(tokens);
    int covered = 0, covered_cosine = 0;
    constexpr int kDraws = 400;
    for (int draw = 0; draw < kDraws; ++draw) {
      // The tokens of a sequence are copies: as many rows, a fifth of the knowledge.
      const auto rows =
          torch::randn({100, 1, 3}, torch::kDouble).expand({100, tokens, 3}).reshape({-1, 3});
      auto view = testing::view_of(rows.matmul(mix.t()) + mu, b);
      view.rows_per_group = tokens;
      const auto probe = probes::make_layer_probe("intercept");
      testing::observe(*probe, view);
      const auto out = testing::emitted(*probe);
      const auto* residual = testing::find(out, "bias/residual");
      covered += *residual->lower <= truth && truth <= *residual->upper ? 1 : 0;
      const auto* cos = testing::find(out, "bias/cos");
      covered_cosine += *cos->lower <= cosine && cosine <= *cos->upper ? 1 : 0;
    }
    // At a true rate of 95 % fewer than 355 of 400 happen with probability below 1e-6; the linear
    // approximation may cost a percent or two of that rate.
    CHECK(covered >= 350);
    CHECK(covered_cosine >= 350);
    CHECK(covered < kDraws);  // an interval that always covers would be too wide to say anything
  }
}

TEST_CASE("layers without a post-gating bias are left out, and a saved probe goes on") {
  const auto plain = probes::make_layer_probe("intercept");
  testing::observe(*plain, testing::view_of(torch::randn({10, 3})));
  CHECK(testing::emitted(*plain).scalars.empty());

  torch::manual_seed(3);
  const auto phi = torch::randn({60, 4}), b = torch::randn({4});
  const auto whole = probes::make_layer_probe("intercept");
  const auto first = probes::make_layer_probe("intercept");
  const auto second = probes::make_layer_probe("intercept");
  testing::observe(*whole, testing::view_of(phi, b));
  testing::observe(*first, testing::view_of(phi, b));
  testing::carry_over(*first, *second);
  const auto x = testing::emitted(*whole), y = testing::emitted(*second);
  CHECK(value(x, "bias/cos") == value(y, "bias/cos"));
  CHECK(value(x, "bias/residual") == value(y, "bias/residual"));
}
