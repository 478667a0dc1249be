// SPDX-License-Identifier: Apache-2.0
#include "kappascope/probes/hessian_spectrum.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "fixture.h"
#include "kappascope/linalg/random.h"
#include "support/catch.h"

using namespace kappascope;
using testing::emitted;

namespace {

// ½ wᵀ D w has the Hessian D.
struct Quadratic {
  at::Tensor w = torch::ones({6}, torch::requires_grad().dtype(torch::kDouble));
  at::Tensor d = torch::tensor({-3., 0., 1., 2., 5., 9.}, torch::kDouble);
  [[nodiscard]] at::Tensor loss() const { return (d * w.square()).sum() / 2; }
};

probes::HessianSpectrum probe_of(curvature::LossFunction loss,
                                 const at::Tensor& w,
                                 probes::HessianSpectrumOptions options = {}) {
  return {std::move(loss),
          [w] {
            return curvature::NamedParameters{{"w", w}};
          },
          std::move(options)};
}

}  // namespace

TEST_CASE("the probe reports both ends of the spectrum with bounds, the density and the trace") {
  const Quadratic q;
  probes::HessianSpectrumOptions options;
  options.top = 2;
  auto probe = probe_of([&] { return q.loss(); }, q.w, options);
  const auto out = emitted(probe);
  for (const auto& [name, want] : {std::pair("hessian/lambda_1", 9.),
                                   {"hessian/lambda_2", 5.},
                                   {"hessian/lambda_min_1", -3.},
                                   {"hessian/lambda_min_2", 0.}}) {
    CAPTURE(name);
    const auto* row = testing::find(out, name);
    REQUIRE(row != nullptr);
    CHECK(row->value == Approx(want).margin(1e-8));
    CHECK(row->status == "converged");
    CHECK(*row->lower <= row->value);
  }
  // Along the gradient D w = (-3, 0, 1, 2, 5, 9).
  const double squares = 9 + 0 + 1 + 4 + 25 + 81, cubes = -27 + 0 + 1 + 8 + 125 + 729;
  const auto* along = testing::find(out, "hessian/along_gradient");
  REQUIRE(along != nullptr);
  CHECK(along->value == Approx(cubes / squares).epsilon(1e-9));
  CHECK(*along->lower < along->value);
  CHECK(*along->upper - *along->lower < 1e-6);
  const auto* trace = testing::find(out, "hessian/trace");
  CHECK(std::abs(trace->value - 14) <= *trace->upper - *trace->lower);
  REQUIRE(out.arrays.size() == 1);
  CHECK(out.arrays[0].shape[0] == 4);
}

TEST_CASE("the stored trace is covered where outliers stand over a small bulk") {
  // Zero to ten outliers of either sign, of which the window finds five at either end. With a true
  // rate of 95 %, fewer than 179 of 200 happen once in 2,000 sets of seeds (binomial).
  constexpr int kDraws = 200;
  linalg::Random random(5);
  int covered = 0, narrow = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    const auto d = torch::zeros({40 + static_cast<int64_t>(random.below(60))}, torch::kDouble);
    const double ratio = std::pow(10, 1 + 5 * random.uniform());
    const auto outliers = static_cast<int64_t>(random.below(11));
    for (int64_t i = 0; i < d.size(0); ++i) {
      const double sign = random.below(2) == 0 ? -1 : 1;
      d[i] = i < outliers ? sign * ratio * (1 + random.uniform()) : random.normal();
    }
    const auto w = torch::ones({d.size(0)}, torch::requires_grad().dtype(torch::kDouble));
    probes::HessianSpectrumOptions options;
    options.density_steps = 10;
    options.density_starts = 2 + static_cast<int>(random.below(3));
    options.seed = static_cast<std::uint64_t>(draw);
    auto probe = probe_of([&] { return (d * w.square()).sum() / 2; }, w, options);
    const auto out = emitted(probe);
    const auto* trace = testing::find(out, "hessian/trace");
    REQUIRE(trace != nullptr);
    const double truth = d.sum().item<double>(), rounding = 1e-12 * d.abs().sum().item<double>();
    covered += *trace->lower - rounding <= truth && truth <= *trace->upper + rounding ? 1 : 0;
    if (outliers <= 5 && *trace->upper - *trace->lower <= ratio) ++narrow;
  }
  CHECK(covered >= 179);
  // Six of eleven draws have so few outliers that all of them are found, and two thirds of those a
  // ratio above what the bulk's own error is: its 100 eigenvalues reach 2 · 4.3 · sqrt(100) at
  // most.
  CHECK(narrow >= 60);
}

TEST_CASE("each measurement starts from the last, also behind a checkpoint") {
  constexpr int64_t kSize = 400;
  torch::manual_seed(2);
  auto d = torch::rand({kSize}, torch::kDouble);
  d.narrow(0, 0, 4) += torch::tensor({9., 7., 6., 5.}, torch::kDouble);
  const auto w = torch::ones({kSize}, torch::requires_grad().dtype(torch::kDouble));
  probes::HessianSpectrumOptions options;
  options.top = 2;
  options.density = false;
  const auto make = [&] {
    return probe_of([&] { return (d * w.square()).sum() / 2; }, w, options);
  };
  auto probe = make();
  const auto first = emitted(probe);
  auto resumed = make();
  testing::carry_over(probe, resumed);
  d *= 1.01;
  const auto second = emitted(probe);
  CHECK(testing::find(second, "hessian/products")->value <
        testing::find(first, "hessian/products")->value);
  CHECK(testing::find(second, "hessian/lambda_1")->value ==
        Approx(testing::find(first, "hessian/lambda_1")->value * 1.01).epsilon(1e-3));

  const auto again = emitted(resumed);
  REQUIRE(again.scalars.size() == second.scalars.size());
  for (std::size_t i = 0; i < again.scalars.size(); ++i)
    CHECK(again.scalars[i].value == second.scalars[i].value);
}

TEST_CASE("the global random state is left alone even when the loss draws from it") {
  const Quadratic q;
  probes::HessianSpectrumOptions options;
  options.density = false;
  auto probe = probe_of([&] { return q.loss() + 0 * torch::rand({}); }, q.w, options);
  torch::manual_seed(3);
  const auto want = torch::rand({3});
  torch::manual_seed(3);
  emitted(probe);
  CHECK(torch::equal(torch::rand({3}), want));
}

TEST_CASE("a loss without curvature becomes an event, not a number") {
  const Quadratic q;
  auto probe = probe_of([&] { return q.loss() * std::numeric_limits<double>::infinity(); }, q.w);
  const auto out = emitted(probe);
  CHECK(out.scalars.empty());
  REQUIRE(out.events.size() == 1);
  CHECK(out.events[0].kind == "hessian_failed");
  CHECK_THAT(out.events[0].message, Catch::Contains("not finite"));
}

TEST_CASE("a window keeps to what its budget leaves, by products or by being put off") {
  const Quadratic q;
  double now = 0;
  int products = 0;
  double first = 1;  // seconds of the first product; the others take one
  probes::HessianSpectrumOptions options;
  options.top = 1;
  options.density_steps = 5;
  options.clock = [&] { return now; };
  options.on_product = [&](int count) {
    products = count;
    now += count == 1 ? first : 1;
    return true;
  };
  auto probe = probe_of([&] { return now += 0.5, q.loss(); }, q.w, options);
  const auto window = [&](double seconds) {
    now = 0;
    store::Snapshot out;
    probe.emit_within(seconds, out);
    CHECK(now <= seconds + 3);  // what it takes to learn the cost of a product
    return out;
  };
  CHECK(probe.least_seconds() == 0);
  const auto put_off = window(5);
  CHECK(put_off.scalars.empty());
  REQUIRE(put_off.events.size() == 1);
  CHECK(put_off.events[0].kind == "hessian_budget");
  CHECK_THAT(put_off.events[0].message, Catch::Contains("put off until 10 products fit"));
  CHECK(products == 2);
  CHECK(probe.least_seconds() > 10);
  CHECK(probe.least_seconds() < 14);

  // The eigenvalues of six parameters take six products, so what is left is for the density.
  const auto cut = window(20);
  CHECK(testing::find(cut, "hessian/lambda_1")->status == "converged");
  REQUIRE(cut.events.size() == 1);
  CHECK_THAT(cut.events[0].message, Catch::Contains("and 2 of 4 starts"));
  CHECK(cut.arrays.size() == 1);
  const auto short_one = window(probe.least_seconds());
  CHECK(testing::find(short_one, "hessian/lambda_1") != nullptr);
  CHECK(short_one.arrays.empty());
  CHECK_THAT(short_one.events.at(0).message, Catch::Contains("and 0 of 4 starts"));

  first = 6;  // a process that is still warming up
  const auto cold = window(20);
  CHECK(testing::find(cold, "hessian/lambda_1")->status == "converged");
  CHECK_THAT(cold.events.at(0).message, Catch::Contains("allows 12 Hessian products"));

  // Timed at a second, and then other programs make every product take five.
  probes::HessianSpectrumOptions slow = options;
  slow.on_product = [&](int count) {
    now += count <= 2 ? 1 : 5;
    return true;
  };
  auto busy = probe_of([&] { return now += 0.5, q.loss(); }, q.w, slow);
  now = 0;
  store::Snapshot ended;
  busy.emit_within(20, ended);
  CHECK(now <= 20 + 5);
  CHECK(ended.arrays.empty());
  CHECK_THAT(ended.events.at(0).message, Catch::Contains("0 of 4 starts"));

  const auto whole = window(1e9);
  CHECK(whole.events.empty());
  CHECK(whole.arrays.size() == 1);
}

TEST_CASE("a window ends with the product after which it is told to, and keeps what it had") {
  const Quadratic q;
  int last = 0, limit = 1'000;
  probes::HessianSpectrumOptions options;
  options.density_steps = 5;
  options.on_product = [&](int products) {
    CHECK(products == last + 1);
    last = products;
    return products < limit;
  };
  const auto window = [&] {
    last = 0;
    auto probe = probe_of([&] { return q.loss(); }, q.w, options);
    return emitted(probe);
  };
  const auto whole = window();
  CHECK(whole.events.empty());
  const int all = last;
  const auto of_eigenvalues = static_cast<int>(testing::value(whole, "hessian/products"));
  REQUIRE(of_eigenvalues > 2);
  REQUIRE(all > of_eigenvalues);
  for (limit = 1; limit < all; ++limit) {
    const auto out = window();
    CAPTURE(limit);
    CHECK(last == limit);
    REQUIRE(out.events.size() == 1);
    CHECK(out.events[0].kind == "hessian_stopped");
    CHECK(out.arrays.empty());
    const auto* first = testing::find(out, "hessian/lambda_1");
    CHECK((first != nullptr) == (limit > of_eigenvalues));
    if (first != nullptr) CHECK(first->value == testing::value(whole, "hessian/lambda_1"));
  }
}

TEST_CASE("the probe reports what the optimiser sees, with its limit") {
  const Quadratic q;
  probes::HessianSpectrumOptions options;
  options.density = false;
  std::optional<curvature::Preconditioner> seen;
  options.preconditioner = [&](const curvature::NamedParameters& parameters) {
    CHECK(parameters.front().first == "w");
    return seen;
  };
  auto probe = probe_of([&] { return q.loss(); }, q.w, options);
  // Not known yet.
  auto out = emitted(probe);
  CHECK(testing::find(out, "hessian/preconditioned") == nullptr);
  CHECK(testing::find(out, "hessian/stability_limit") == nullptr);
  // P = 1: the Hessian itself.
  seen = curvature::Preconditioner{.limit = 20};
  out = emitted(probe);
  REQUIRE(testing::find(out, "hessian/preconditioned") != nullptr);
  CHECK(testing::find(out, "hessian/preconditioned")->value == Approx(9));
  CHECK(testing::find(out, "hessian/stability_limit")->value == 20);
  CHECK(testing::value(out, "hessian/preconditioned_along_gradient") ==
        testing::value(out, "hessian/along_gradient"));
  // 5 · 2² is the largest of d s².
  seen->scale = torch::tensor({1., 1., 1., 3., 2., 1.}, torch::kDouble);
  out = emitted(probe);
  CHECK(testing::find(out, "hessian/preconditioned")->value == Approx(20));
  // P⁻¹ g, as the optimiser measures it: D' = (-3, 0, 1, 18, 20, 9) along (-3, 0, 1, 6, 10, 9).
  CHECK(testing::value(out, "hessian/preconditioned_along_gradient") ==
        Approx((-27.0 + 1 + 18 * 36 + 20 * 100 + 729) / (9 + 1 + 36 + 100 + 81)).epsilon(1e-9));
  CHECK(*testing::find(out, "hessian/preconditioned")->upper >= 20 * (1 - 1e-9));
  CHECK(testing::find(out, "hessian/preconditioned")->status == "converged");
  // Within a budget that has no room for it there is none, and the run says so.
  options.clock = [now = 0.0]() mutable { return now += 1; };
  auto tight = probe_of([&] { return q.loss(); }, q.w, options);
  store::Snapshot within;
  tight.emit_within(21, within);
  CHECK(testing::find(within, "hessian/preconditioned") == nullptr);
  CHECK(std::ranges::any_of(within.events, [](const store::Event& event) {
    return event.kind == "hessian_budget" &&
           event.message.find("preconditioned") != std::string::npos;
  }));
}

TEST_CASE("what comes before the first product keeps to the budget, and can be ended") {
  // Differences, whose set-up alone evaluates the loss dozens of times.
  torch::manual_seed(4);
  const auto x = torch::randn({1, 2, 8, 4});
  const auto w = (torch::randn({4, 4}) / 2).requires_grad_();
  double now = 0;
  int evaluations = 0;
  const auto loss = [&] {
    ++evaluations;
    now += 1;
    const auto q = x.matmul(w);
    return at::scaled_dot_product_attention(q, q, q).square().mean();
  };
  const auto before = w.detach().clone();
  probes::HessianSpectrumOptions options;
  options.top = 1;
  options.density = false;
  options.clock = [&] { return now; };
  int told = 0, stop_at = -1;
  options.on_set_up = [&](int count) {
    CHECK(count == told++);
    return count != stop_at;
  };
  for (const double seconds : {1., 3., 10., 17.}) {
    CAPTURE(seconds);
    now = told = evaluations = 0;
    auto probe = probe_of(loss, w, options);
    store::Snapshot out;
    probe.emit_within(seconds, out);
    CHECK(now <= seconds + 1);
    CHECK(torch::equal(w.detach(), before));
    REQUIRE(out.events.size() == 1);
    CHECK(out.events[0].kind == "hessian_budget");
    CHECK_THAT(out.events[0].message,
               Catch::Contains("put off") && Catch::Contains("probes.hessian-rows"));
    CHECK(probe.least_seconds() > seconds);
  }
  for (stop_at = 0; stop_at < 15; ++stop_at) {
    now = told = evaluations = 0;
    auto probe = probe_of(loss, w, options);
    const auto out = emitted(probe);
    CHECK(evaluations == stop_at);
    CHECK(torch::equal(w.detach(), before));
    REQUIRE(out.events.size() == 1);
    CHECK(out.events[0].kind == "hessian_stopped");
  }
  stop_at = -1;
  told = 0;
  auto probe = probe_of(loss, w, options);
  const auto out = emitted(probe);
  CHECK(testing::find(out, "hessian/lambda_1") != nullptr);
  CHECK(told > 15);
  CHECK(evaluations > told);  // those of products are not announced
}
