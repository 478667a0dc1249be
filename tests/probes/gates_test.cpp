// SPDX-License-Identifier: Apache-2.0
#include "tensor/gates.h"

#include <torch/types.h>

#include <cmath>
#include <limits>

#include "fixture.h"
#include "kappascope/core/statistics.h"
#include "support/catch.h"
#include "support/thread_group.h"

using namespace kappascope;
using testing::emitted;
using testing::observe;
using testing::value;

namespace {

/// Channel 0 is closed and channel 1 open in every row.
at::Tensor inputs_of(double seed, int64_t sequences = 3) {
  auto g = torch::sin(torch::arange(sequences * 5 * 6, torch::kDouble) * (1.3 + seed))
               .mul(5)
               .view({sequences, 5, 6});
  g.select(2, 0).abs_().neg_();
  g.select(2, 1).abs_().add_(0.1);
  return g;
}

session::LayerView view_of(const at::Tensor& g) {
  auto view = testing::view_of(g.reshape({-1, g.size(-1)}));
  view.gate_inputs = g;
  return view;
}

}  // namespace

TEST_CASE("the probe writes shares over all passes of a window, and the channels that never move") {
  const auto probe = probes::make_layer_probe("gates");
  CHECK(probe->needs().gates);
  const auto a = inputs_of(0), b = inputs_of(1);
  observe(*probe, view_of(a));
  observe(*probe, view_of(b));
  const auto out = emitted(*probe);
  const auto all = torch::cat({a, b});
  const auto* open = testing::find(out, "gates/open");
  CHECK(open->value == Approx((all > 0).to(torch::kDouble).mean().item<double>()));
  CHECK(open->n == 30);
  CHECK(*open->lower < open->value);
  CHECK(open->value < *open->upper);
  CHECK(value(out, "gates/saturated") ==
        Approx((all.abs() > 4).to(torch::kDouble).mean().item<double>()));
  CHECK(value(out, "gates/closed") == 1);
  CHECK(value(out, "gates/always_open") == 1);
  CHECK(testing::find(out, "gates/closed")->n == 30);
  CHECK(emitted(*probe).scalars.empty());
}

TEST_CASE("a channel that opens once in a window is not closed") {
  const auto probe = probes::make_layer_probe("gates");
  auto g = inputs_of(0);
  observe(*probe, view_of(g));
  g = g.clone();
  g[1][2][0] = 0.5;
  observe(*probe, view_of(g));
  CHECK(value(emitted(*probe), "gates/closed") == 0);
}

TEST_CASE("a layer whose gate is not seen has no number, and one of NaN alone says so") {
  const auto probe = probes::make_layer_probe("gates");
  observe(*probe, testing::view_of(torch::ones({4, 3})));
  CHECK(emitted(*probe).scalars.empty());
  observe(*probe, view_of(torch::full({2, 2, 3}, std::numeric_limits<double>::quiet_NaN())));
  const auto out = emitted(*probe);
  CHECK(out.scalars.size() == 4);
  for (const auto& scalar : out.scalars) {
    CAPTURE(scalar.name);
    CHECK(std::isnan(scalar.value));
    CHECK(scalar.status == store::Status::kNonFinite);
  }
}

TEST_CASE("a layer whose width changes is left out with the reason") {
  const auto probe = probes::make_layer_probe("gates");
  observe(*probe, view_of(inputs_of(0)));
  observe(*probe, view_of(inputs_of(0).slice(2, 0, 4)));
  const auto out = emitted(*probe);
  CHECK(out.scalars.empty());
  REQUIRE(out.events.size() == 1);
  CHECK(out.events[0].message.find("6 gates has 4") != std::string::npos);
}

TEST_CASE("of one sequence there is no interval") {
  const auto probe = probes::make_layer_probe("gates");
  observe(*probe, view_of(inputs_of(0, 1)));
  const auto out = emitted(*probe);
  CHECK_FALSE(testing::find(out, "gates/open")->lower.has_value());
}

TEST_CASE("the interval of open gates covers the mean of the sequences") {
  // Of 200 draws fewer than 180 hits have a chance of 0.2 % at 95 %.
  torch::manual_seed(1);
  // Each sequence has a level of its own, as topics have.
  const auto draw = [](int64_t sequences) {
    return torch::randn({sequences, 16, 8}) + torch::randn({sequences, 1, 1});
  };
  int hits = 0;
  for (int i = 0; i < 200; ++i) {
    const auto probe = probes::make_layer_probe("gates");
    observe(*probe, view_of(draw(12)));
    const auto out = emitted(*probe);
    const auto* open = testing::find(out, "gates/open");
    hits += *open->lower <= 0.5 && 0.5 <= *open->upper ? 1 : 0;  // by symmetry
  }
  CHECK(hits >= 180);
}

TEST_CASE("a restored window of gates goes on as it would have") {
  const auto probe = probes::make_layer_probe("gates"), other = probes::make_layer_probe("gates");
  observe(*probe, view_of(inputs_of(0)));
  testing::carry_over(*probe, *other);
  observe(*probe, view_of(inputs_of(1)));
  observe(*other, view_of(inputs_of(1)));
  const auto want = emitted(*probe), got = emitted(*other);
  REQUIRE(want.scalars.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(got.scalars[i].value == want.scalars[i].value);
}

TEST_CASE("processes give the numbers of one that saw all of it") {
  const auto probe = probes::make_layer_probe("gates");
  observe(*probe, view_of(inputs_of(0)));
  observe(*probe, view_of(inputs_of(1)));
  const auto want = emitted(*probe);
  std::vector<store::Snapshot> outs(2);
  testing::in_threads(2, [&](const std::shared_ptr<tensor::Group>& group) {
    const auto mine = probes::make_layer_probe("gates");
    observe(*mine, view_of(inputs_of(group->rank())));
    mine->emit_with(*group, 1, outs[static_cast<std::size_t>(group->rank())]);
  });
  REQUIRE(outs[0].scalars.size() + outs[1].scalars.size() == 4);
  const auto& found = outs[0].scalars.empty() ? outs[1] : outs[0];
  for (std::size_t i = 0; i < 4; ++i) CHECK(found.scalars[i].value == want.scalars[i].value);
}
