// SPDX-License-Identifier: Apache-2.0
#include "kappascope/probes/feature_moments.h"

#include "fixture.h"
#include "kappascope/tensor/convert.h"
#include "support/catch.h"

using namespace kappascope;
using testing::value;

namespace {

double kappa(const at::Tensor& matrix) {
  const auto values = at::linalg_eigvalsh(matrix);
  return (values[-1] / values[0]).item<double>();
}

}  // namespace

TEST_CASE("the three kappas are those of Σ, Σ+μμᵀ and Σ+(μ+b)(μ+b)ᵀ of the rows seen") {
  torch::manual_seed(1);
  const auto phi = torch::randn({400, 6}, torch::kDouble) *
                       torch::tensor({1., 2., 3., 4., 5., 6.}, torch::kDouble) +
                   2;
  const auto b = torch::randn({6}, torch::kDouble);
  probes::FeatureMoments probe;
  for (const auto& part : phi.split(100)) testing::observe(probe, testing::view_of(part, b));
  store::Snapshot out;
  probe.emit(out);
  const auto mu = phi.mean(0), centred = phi - mu;
  const auto sigma = centred.t().matmul(centred) / 400;
  CHECK(value(out, "kappa/sigma") == Approx(kappa(sigma)).epsilon(1e-9));
  CHECK(value(out, "kappa/second_moment") ==
        Approx(kappa(phi.t().matmul(phi) / 400)).epsilon(1e-9));
  CHECK(value(out, "kappa/with_bias") ==
        Approx(kappa((phi + b).t().matmul(phi + b) / 400)).epsilon(1e-9));
  const auto directions = phi / phi.norm(2, 1, true);
  const double pairs = directions.sum(0).square().sum().item<double>() - 400;
  CHECK(value(out, "features/mean_cosine") == Approx(pairs / (400 * 399)).epsilon(1e-9));
  const auto* sigma_row = testing::find(out, "kappa/sigma");
  REQUIRE(sigma_row->lower.has_value());
  CHECK(*sigma_row->lower <= sigma_row->value);
  CHECK(*sigma_row->upper >= *sigma_row->lower);
  CHECK(*sigma_row->n == 400);
  CHECK(sigma_row->layer == "layer");
  // A new window begins: nothing is left over.
  store::Snapshot empty;
  probe.emit(empty);
  CHECK(empty.scalars.empty());
}

TEST_CASE("a wide layer is factored, a narrow one decomposed, and the snapshot says which") {
  torch::manual_seed(4);
  for (const int64_t d : {64, 1024}) {
    CAPTURE(d);
    const auto phi = torch::randn({2 * d, d}) * torch::linspace(0.5, 2, d) + 1;
    probes::FeatureMoments probe;
    testing::observe(probe, testing::view_of(phi));
    store::Snapshot out;
    probe.emit(out);
    const auto centred = phi.to(torch::kDouble) - phi.to(torch::kDouble).mean(0);
    // The products of the rows are made in float: 1e-7 of the largest eigenvalue, in the smallest.
    CHECK(value(out, "kappa/sigma") ==
          Approx(kappa(centred.t().matmul(centred) / (2 * d))).epsilon(1e-4));
    const auto* products = testing::find(out, "features/products");
    REQUIRE(products != nullptr);
    CHECK(products->status == "ok");
    CHECK(products->attributes.at("route") == (d < 1024 ? "decomposition" : "factorisation"));
    CHECK((products->value > 0) == (d >= 1024));
    CHECK(testing::find(out, "features/effective_rank")->lower.has_value() == (d >= 1024));
  }
}

TEST_CASE("dead and constant features and non-finite rows are named") {
  torch::manual_seed(2);
  auto phi = torch::randn({200, 5});
  phi.select(1, 1).zero_();
  phi.select(1, 3).fill_(2);
  phi[7][0] = std::numeric_limits<float>::quiet_NaN();
  probes::FeatureMoments probe;
  testing::observe(probe, testing::view_of(phi));
  store::Snapshot out;
  probe.emit(out);
  CHECK(value(out, "features/dead") == 1);
  CHECK(value(out, "features/constant") == 2);
  CHECK(value(out, "features/nonfinite_rows") == 1);
  CHECK(testing::find(out, "kappa/sigma")->status == "degenerate");
}

TEST_CASE("too few rows for the width are said to be so, not reported as a condition number") {
  torch::manual_seed(3);
  probes::FeatureMoments probe;
  testing::observe(probe, testing::view_of(torch::randn({20, 32})));
  store::Snapshot out;
  probe.emit(out);
  CHECK(testing::find(out, "kappa/sigma")->status == "not_resolvable");
}

TEST_CASE("features that are all NaN give a named outcome") {
  probes::FeatureMoments probe;
  testing::observe(probe,
                   testing::view_of(torch::full({20, 4}, std::numeric_limits<float>::quiet_NaN())));
  store::Snapshot out;
  probe.emit(out);
  CHECK(testing::find(out, "kappa/sigma")->status == "degenerate");
  CHECK(value(out, "features/nonfinite_rows") == 20);
}

TEST_CASE("a saved probe goes on to the last bit") {
  torch::manual_seed(4);
  const auto a = torch::randn({100, 8}), c = torch::randn({100, 8}), b = torch::randn({8});
  probes::FeatureMoments whole, first, second;
  testing::observe(whole, testing::view_of(a, b));
  testing::observe(first, testing::view_of(a, b));
  testing::carry_over(first, second);
  testing::observe(whole, testing::view_of(c, b));
  testing::observe(second, testing::view_of(c, b));
  store::Snapshot x, y;
  whole.emit(x);
  second.emit(y);
  REQUIRE(x.scalars.size() == y.scalars.size());
  for (std::size_t i = 0; i < x.scalars.size(); ++i)
    CHECK(x.scalars[i].value == y.scalars[i].value);
}
