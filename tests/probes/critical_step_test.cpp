// SPDX-License-Identifier: Apache-2.0
#include "probes/critical_step.h"

#include <torch/types.h>
#include <torch/utils.h>

#include "fixture.h"
#include "support/catch.h"

using namespace kappascope;
using testing::value;

namespace {

/// ½ x² on a number, with its probe.
struct Descent {
  at::Tensor x = torch::ones({1}, torch::kDouble).requires_grad_();
  probes::CriticalStep probe{[this] { return 0.5 * x.square().sum(); },
                             [this] {
                               return curvature::NamedParameters{{"x", x}};
                             }};

  void update(double rate) const {
    const torch::NoGradGuard no_grad;
    x.mul_(1 - rate);
  }
  store::Snapshot emitted() { return testing::emitted(probe); }
};

}  // namespace

TEST_CASE("the probe tells how much longer the step between its two steps could have been") {
  Descent descent;
  descent.probe.observe({.step = 10});
  descent.update(0.1);
  descent.probe.observe({.step = 11});
  auto out = descent.emitted();
  CHECK(value(out, "step/critical") == Approx(20));
  const auto* critical = testing::find(out, "step/critical");
  CHECK(critical->status == "resolved");
  CHECK(*critical->lower <= 20);
  CHECK(*critical->upper >= 20);
  CHECK(*critical->n <= 8);
  // The next window has a step of its own.
  descent.probe.observe({.step = 20});
  descent.update(0.5);
  descent.probe.observe({.step = 21});
  out = descent.emitted();
  CHECK(value(out, "step/critical") == Approx(4));
}

TEST_CASE("a window without a step leaves nothing, and a loss that fails an event") {
  Descent descent;
  CHECK(descent.emitted().scalars.empty());
  descent.probe.observe({.step = 0});
  CHECK(descent.emitted().scalars.empty());
  probes::CriticalStep failing([]() -> at::Tensor { throw std::runtime_error("no data"); },
                               [&] {
                                 return curvature::NamedParameters{{"x", descent.x}};
                               });
  failing.observe({.step = 0});
  descent.update(0.1);
  const auto out = testing::emitted(failing);
  CHECK(out.scalars.empty());
  REQUIRE(out.events.size() == 1);
  CHECK(out.events[0].kind == "probe_failed");
  CHECK(out.events[0].message.find("no data") != std::string::npos);
}

TEST_CASE("a step uphill is not resolved") {
  Descent descent;
  descent.probe.observe({.step = 0});
  descent.update(-0.5);
  const auto out = descent.emitted();
  const auto* critical = testing::find(out, "step/critical");
  CHECK(critical->status == "not_resolvable");
  CHECK(*critical->lower == 0);
}

TEST_CASE("a restored probe of steps gives the same bits") {
  Descent whole, stopped;
  for (const double rate : {0.1, 0.5}) {
    for (auto* descent : {&whole, &stopped}) {
      descent->probe.observe({.step = 0});
      descent->update(rate);
    }
    probes::CriticalStep restored([&] { return 0.5 * stopped.x.square().sum(); },
                                  [&] {
                                    return curvature::NamedParameters{{"x", stopped.x}};
                                  });
    testing::carry_over(stopped.probe, restored);
    testing::carry_over(restored, stopped.probe);
    const auto want = whole.emitted(), got = stopped.emitted();
    CHECK(value(got, "step/critical") == value(want, "step/critical"));
    CHECK(*testing::find(got, "step/critical")->n == *testing::find(want, "step/critical")->n);
  }
  // Of another model: the window is left out.
  probes::CriticalStep other([] { return torch::zeros({}); },
                             [] {
                               return curvature::NamedParameters{{"y", torch::zeros({7})}};
                             });
  whole.probe.observe({.step = 9});
  testing::carry_over(whole.probe, other);
  CHECK(testing::emitted(other).scalars.empty());
}
