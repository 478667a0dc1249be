// SPDX-License-Identifier: Apache-2.0
#include <torch/types.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "fixture.h"
#include "kappascope/core/statistics.h"
#include "kappascope/tensor/routing.h"
#include "support/catch.h"
#include "support/thread_group.h"

using namespace kappascope;
using testing::emitted;
using testing::value;

namespace {

const std::vector<session::LayerView> kNone;

session::RouterView view_of(const at::Tensor& logits,
                            int64_t chosen = 2,
                            const std::string& name = "router") {
  return {name, {.logits = logits, .chosen = chosen}};
}

void observe(session::Probe& probe, const std::vector<session::RouterView>& routers) {
  probe.observe({.step = 0, .layers = &kNone, .routers = &routers});
}

/// Without random numbers: threads share their generator.
at::Tensor logits_of(double seed, int64_t sequences = 3) {
  return torch::sin(torch::arange(sequences * 5 * 4, torch::kDouble) * (1.3 + seed))
      .view({sequences, 5, 4});
}

}  // namespace

TEST_CASE("the probe writes the entropy, the margin and close choices of a window's passes") {
  const auto probe = probes::make_layer_probe("routers");
  CHECK(probe->needs().routers);
  const auto a = logits_of(0), b = logits_of(1) * 0.01 + 1;
  observe(*probe, {view_of(a)});
  observe(*probe, {view_of(b)});
  const auto out = emitted(*probe);
  const auto all = torch::cat({a, b});
  const auto p = all.softmax(-1);
  const auto entropy = (-(p * p.log()).sum(-1) / std::log(4.0)).mean(1);
  const auto sorted = std::get<0>(all.sort(-1, /*descending=*/true));
  const auto margin = sorted.select(2, 1) - sorted.select(2, 2);
  const auto bound = (sorted.select(2, 1).abs() + sorted.select(2, 2).abs()) * 0x1p-8;
  REQUIRE(out.scalars.size() == 3);
  const auto check_mean = [&](const char* name, const at::Tensor& by_sequence) {
    CAPTURE(name);
    const auto* row = testing::find(out, name);
    const double mean = by_sequence.mean().item<double>();
    const double error =
        student_quantile(0.975, 5) * by_sequence.std().item<double>() / std::sqrt(6.0);
    CHECK(row->value == Approx(mean));
    CHECK(*row->lower == Approx(mean - error));
    CHECK(*row->upper == Approx(mean + error));
    CHECK(row->n == 30);
  };
  check_mean("router/entropy", entropy);
  check_mean("router/margin", margin.mean(1));
  const auto* close = testing::find(out, "router/close");
  CHECK(close->value == Approx((margin <= bound).to(torch::kDouble).mean().item<double>()));
  CHECK(close->value > 0);
  CHECK(close->lower.has_value());
  CHECK(close->n == 30);
  CHECK(emitted(*probe).scalars.empty());
}

TEST_CASE("of a router that does not choose there is the entropy alone") {
  const auto probe = probes::make_layer_probe("routers");
  for (const int64_t chosen : {0, 4}) {
    observe(*probe, {view_of(logits_of(0), chosen)});
    const auto out = emitted(*probe);
    REQUIRE(out.scalars.size() == 1);
    CHECK(out.scalars[0].name == "router/entropy");
  }
}

TEST_CASE("one sequence has no interval, and logits that are all NaN say so") {
  const auto probe = probes::make_layer_probe("routers");
  observe(*probe, {view_of(logits_of(0, 1))});
  for (const auto& scalar : emitted(*probe).scalars) {
    CAPTURE(scalar.name);
    CHECK(std::isfinite(scalar.value));
    CHECK_FALSE(scalar.lower.has_value());
  }
  observe(*probe, {view_of(logits_of(0, 2) * std::numeric_limits<double>::quiet_NaN())});
  const auto out = emitted(*probe);
  CHECK(out.scalars.size() == 3);
  for (const auto& scalar : out.scalars) {
    CAPTURE(scalar.name);
    CHECK(std::isnan(scalar.value));
    CHECK(scalar.status == store::Status::kNonFinite);
  }
  observe(*probe, {});
  CHECK(emitted(*probe).scalars.empty());
  probe->observe({.step = 0, .layers = &kNone});  // a front end that sees none
  CHECK(emitted(*probe).scalars.empty());
}

TEST_CASE("the intervals of entropy and close choices cover the mean of the sequences") {
  // Of 200 draws fewer than 180 hits have a chance of 0.2 % at 95 %.
  torch::manual_seed(1);
  // Each sequence has a scale of its own, as topics have.
  const auto draw = [](int64_t sequences) {
    const auto logits = torch::randn({sequences, 16, 6});
    return logits * torch::rand({sequences, 1, 1}).mul(2).exp() * 0.1;
  };
  const auto truth = tensor::summarise({.logits = draw(20000), .chosen = 2}).mean(0) / 16;
  int entropies = 0, shares = 0;
  for (int i = 0; i < 200; ++i) {
    const auto probe = probes::make_layer_probe("routers");
    observe(*probe, {view_of(draw(12))});
    const auto out = emitted(*probe);
    const auto covers = [&](const char* name, int64_t column) {
      const auto* row = testing::find(out, name);
      const double exact = truth[column].item<double>();
      return *row->lower <= exact && exact <= *row->upper ? 1 : 0;
    };
    entropies += covers("router/entropy", 1);
    shares += covers("router/close", 3);
  }
  CHECK(entropies >= 180);
  CHECK(entropies < 200);
  CHECK(shares >= 180);
}

TEST_CASE("a router whose experts change is left out with the reason") {
  const auto probe = probes::make_layer_probe("routers");
  observe(*probe, {view_of(logits_of(0)), view_of(logits_of(0), 2, "other")});
  observe(*probe, {view_of(logits_of(0).slice(2, 0, 3))});
  const auto out = emitted(*probe);
  CHECK(out.scalars.size() == 3);
  REQUIRE(out.events.size() == 1);
  CHECK(out.events[0].message.find("4 experts, of which it chooses 2, has 3 and 2") !=
        std::string::npos);
}

TEST_CASE("a restored window of routers goes on as it would have") {
  const auto probe = probes::make_layer_probe("routers"),
             other = probes::make_layer_probe("routers");
  observe(*probe, {view_of(logits_of(0))});
  testing::carry_over(*probe, *other);
  observe(*probe, {view_of(logits_of(1))});
  observe(*other, {view_of(logits_of(1))});
  const auto want = emitted(*probe), got = emitted(*other);
  REQUIRE(want.scalars.size() == 3);
  REQUIRE(got.scalars.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(got.scalars[i].value == want.scalars[i].value);
}

TEST_CASE("the routers of several processes come together") {
  const auto probe = probes::make_layer_probe("routers");
  observe(*probe, {view_of(logits_of(0)), view_of(logits_of(1))});
  const auto want = emitted(*probe);
  std::vector<store::Snapshot> outs(2);
  testing::in_threads(2, [&](const std::shared_ptr<tensor::Group>& group) {
    const auto mine = probes::make_layer_probe("routers");
    observe(*mine, {view_of(logits_of(group->rank()))});
    mine->emit_with(*group, 1, outs[static_cast<std::size_t>(group->rank())]);
  });
  REQUIRE(outs[0].scalars.size() + outs[1].scalars.size() == 3);
  const auto& found = outs[0].scalars.empty() ? outs[1] : outs[0];
  for (std::size_t i = 0; i < 3; ++i) CHECK(found.scalars[i].value == want.scalars[i].value);
}
