// SPDX-License-Identifier: Apache-2.0
#include "fixture.h"
#include "linalg/features/isotropy.h"
#include "support/catch.h"
#include "tensor/convert.h"

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
  const auto probe = probes::make_layer_probe("features");
  for (const auto& part : phi.split(100)) testing::observe(*probe, testing::view_of(part, b));
  const auto out = testing::emitted(*probe);
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
  CHECK(testing::emitted(*probe).scalars.empty());
}

TEST_CASE("the mean beside the largest variance, W_d, the output and a branch alone") {
  torch::manual_seed(5);
  const auto phi =
      torch::randn({300, 5}, torch::kDouble) * torch::tensor({1., 2., 3., 1., 4.}, torch::kDouble) +
      torch::tensor({1., -1., 2., 3., 0.}, torch::kDouble);
  auto view = testing::view_of(phi);
  view.weight = torch::randn({3, 5}, torch::kDouble);
  view.branch = 2;
  const auto probe = probes::make_layer_probe("features");
  testing::observe(*probe, view);
  const auto out = testing::emitted(*probe);
  const auto mu = phi.mean(0), centred = phi - mu;
  const auto sigma = centred.t().matmul(centred) / 300;
  CHECK(value(out, "features/mean_squared") ==
        Approx(mu.square().sum().item<double>()).epsilon(1e-9));
  CHECK(value(out, "features/largest_variance") ==
        Approx(at::linalg_eigvalsh(sigma)[-1].item<double>()).epsilon(1e-9));
  const auto isotropy = [](const at::Tensor& rows) {
    linalg::MomentAccumulator moments(rows.size(1));
    moments.update(tensor::to_matrix(rows));
    return linalg::isotropy(moments.result()).value;
  };
  const auto output = phi.matmul(view.weight.t());
  CHECK(value(out, "features/output_isotropy") ==
        Approx(isotropy(output)).epsilon(1e-6));  // kept rows are floats
  const auto branch = phi.narrow(1, 3, 2);
  CHECK(value(out, "features/branch_isotropy") == Approx(isotropy(branch)).epsilon(1e-6));
  const auto directions = branch / branch.norm(2, 1, true);
  const double pairs = directions.sum(0).square().sum().item<double>() - 300;
  CHECK(value(out, "features/branch_mean_cosine") == Approx(pairs / (300 * 299)).epsilon(1e-9));
  CHECK(value(out, "weight/kappa") ==
        Approx(std::sqrt(kappa(view.weight.matmul(view.weight.t())))).epsilon(1e-9));
  // Neither weights nor branch: nothing is said of them.
  testing::observe(*probe, testing::view_of(phi));
  const auto plain = testing::emitted(*probe);
  for (const auto* name : {"weight/kappa", "features/output_isotropy", "features/branch_isotropy"})
    CHECK(testing::find(plain, name) == nullptr);
  // A diverged model's weights are no reason to stop.
  view.weight = torch::full({3, 5}, std::numeric_limits<double>::quiet_NaN(), torch::kDouble);
  testing::observe(*probe, view);
  const auto diverged = testing::emitted(*probe);
  CHECK(testing::find(diverged, "weight/kappa")->status == "non_finite");
}

TEST_CASE("a wide layer is factored, a narrow one decomposed, and the snapshot says which") {
  torch::manual_seed(4);
  for (const int64_t d : {64, 1024}) {
    CAPTURE(d);
    const auto phi = torch::randn({2 * d, d}) * torch::linspace(0.5, 2, d) + 1;
    const auto probe = probes::make_layer_probe("features");
    testing::observe(*probe, testing::view_of(phi));
    const auto out = testing::emitted(*probe);
    const auto centred = phi.to(torch::kDouble) - phi.to(torch::kDouble).mean(0);
    // The products of the rows are made in float: 1e-7 of the largest eigenvalue, in the smallest.
    CHECK(value(out, "kappa/sigma") ==
          Approx(kappa(centred.t().matmul(centred) / (2 * d))).epsilon(1e-4));
    const auto* products = testing::find(out, "features/products");
    REQUIRE(products != nullptr);
    CHECK(products->status == "ok");
    CHECK(products->attributes.at("route") == (d < 1024 ? "decomposition" : "factorisation"));
    CHECK((products->value > 0) == (d >= 1024));
    for (const auto* name : {"features/effective_rank", "features/stable_rank"}) {
      CAPTURE(name);
      CHECK(*testing::find(out, name)->upper <= static_cast<double>(d));
      CHECK(testing::find(out, name)->status.text() != "ok");
    }
  }
}

TEST_CASE("constant features and non-finite rows are named") {
  torch::manual_seed(2);
  auto phi = torch::randn({200, 5});
  phi.select(1, 1).zero_();
  phi.select(1, 3).fill_(2);
  phi[7][0] = std::numeric_limits<float>::quiet_NaN();
  const auto probe = probes::make_layer_probe("features");
  testing::observe(*probe, testing::view_of(phi));
  const auto out = testing::emitted(*probe);
  CHECK(value(out, "features/constant") == 2);
  CHECK(value(out, "features/nonfinite_rows") == 1);
  CHECK(testing::find(out, "kappa/sigma")->status == "degenerate");
}

TEST_CASE("too few rows for the width are said to be so, not reported as a condition number") {
  torch::manual_seed(3);
  const auto probe = probes::make_layer_probe("features");
  testing::observe(*probe, testing::view_of(torch::randn({20, 32})));
  const auto out = testing::emitted(*probe);
  CHECK(testing::find(out, "kappa/sigma")->status == "not_resolvable");
}

TEST_CASE("features that are all NaN give a named outcome") {
  const auto probe = probes::make_layer_probe("features");
  testing::observe(*probe,
                   testing::view_of(torch::full({20, 4}, std::numeric_limits<float>::quiet_NaN())));
  const auto out = testing::emitted(*probe);
  CHECK(testing::find(out, "kappa/sigma")->status == "degenerate");
  CHECK(value(out, "features/nonfinite_rows") == 20);
}

TEST_CASE("a saved probe goes on to the last bit") {
  torch::manual_seed(4);
  const auto a = torch::randn({100, 8}), c = torch::randn({100, 8}), b = torch::randn({8});
  const auto weight = torch::randn({3, 8});
  const auto view = [&](const at::Tensor& phi) {
    auto made = testing::view_of(phi, b);
    made.weight = weight;
    made.branch = 2;
    return made;
  };
  const auto whole = probes::make_layer_probe("features");
  const auto first = probes::make_layer_probe("features");
  const auto second = probes::make_layer_probe("features");
  testing::observe(*whole, view(a));
  testing::observe(*first, view(a));
  testing::carry_over(*first, *second);
  testing::observe(*whole, view(c));
  testing::observe(*second, view(c));
  const auto x = testing::emitted(*whole), y = testing::emitted(*second);
  REQUIRE(x.scalars.size() == y.scalars.size());
  for (std::size_t i = 0; i < x.scalars.size(); ++i)
    CHECK(x.scalars[i].value == y.scalars[i].value);
}

TEST_CASE("features that bfloat16 cannot hold are counted, over the window and the processes") {
  auto phi = torch::ones({20, 6}, torch::kDouble);
  phi.select(1, 0).fill_(3.38e38);  // the largest is 3.3895e38
  phi.select(1, 1)[7] = 3.4e38;     // one row is enough
  phi.select(1, 2).fill_(-1e39);
  phi.select(1, 3).fill_(1e-39);  // a subnormal number
  phi.select(1, 4).fill_(0);      // dead, but held
  const auto outside = [](session::Probe& probe) {
    return testing::value(testing::emitted(probe), "features/outside_bfloat16");
  };
  const auto probe = probes::make_layer_probe("features");
  const auto other = probes::make_layer_probe("features");
  testing::observe(*probe, testing::view_of(phi), 0);
  testing::observe(*probe, testing::view_of(torch::ones({20, 6}, torch::kDouble)), 1);
  testing::carry_over(*probe, *other);
  CHECK(outside(*probe) == 2);  // the subnormal column was 1 in the second step
  CHECK(outside(*other) == 2);
  const auto small = probes::make_layer_probe("features");
  testing::observe(*small, testing::view_of(phi), 0);
  CHECK(outside(*small) == 3);
  // Rows that do not count are not looked at.
  auto masked = testing::view_of(phi);
  masked.mask = torch::ones({20}, torch::kBool);
  masked.mask[7] = false;
  const auto with_mask = probes::make_layer_probe("features");
  testing::observe(*with_mask, masked, 0);
  CHECK(outside(*with_mask) == 2);
}
