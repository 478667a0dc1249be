// SPDX-License-Identifier: Apache-2.0
#include "tensor/weights.h"

#include <torch/types.h>

#include <cmath>
#include <thread>

#include "fixture.h"
#include "support/catch.h"
#include "support/thread_group.h"

using namespace kappascope;
using testing::emitted;
using testing::value;

namespace {

session::LayerView view_of(const std::string& name, const at::Tensor& gate, const at::Tensor& up) {
  auto view = testing::view_of(torch::randn({5, 12}));
  view.name = name;
  view.gate = gate;
  view.up = up;
  return view;
}

}  // namespace

TEST_CASE("the probe writes norms, stable ranks and alignment of the weights of the last pass") {
  torch::manual_seed(1);
  const auto gate = torch::randn({12, 6}), up = torch::randn({12, 6}), down = torch::randn({6, 12});
  auto view = view_of("layer", gate, up);
  view.weight = torch::ones({6, 12});
  const auto probe = probes::make_layer_probe("weights");
  testing::observe(*probe, view);
  view.weight = down;
  testing::observe(*probe, view);
  const auto out = emitted(*probe);
  const auto norm = tensor::spectral_norm(down);
  CHECK(value(out, "weight/down_norm") == norm.value);
  CHECK(*testing::find(out, "weight/down_norm")->upper == norm.upper);
  CHECK(value(out, "weight/down_stable_rank") == norm.stable_rank);
  CHECK(value(out, "weight/gate_norm") == tensor::spectral_norm(gate).value);
  CHECK(value(out, "weight/up_stable_rank") == tensor::spectral_norm(up).stable_rank);
  CHECK(value(out, "weight/alignment") == tensor::alignment(gate, up).median);
  CHECK(value(out, "weight/alignment_largest") == tensor::alignment(gate, up).largest);
  CHECK(emitted(*probe).scalars.empty());
}

TEST_CASE("what a front end does not give is not measured") {
  torch::manual_seed(2);
  const auto probe = probes::make_layer_probe("weights");
  testing::observe(*probe, testing::view_of(torch::randn({5, 12})));
  CHECK(emitted(*probe).scalars.empty());
  auto view = testing::view_of(torch::randn({5, 12}));
  view.weight = torch::randn({3, 12});
  testing::observe(*probe, view);
  const auto out = emitted(*probe);
  CHECK(out.scalars.size() == 2);
  CHECK(testing::find(out, "weight/alignment") == nullptr);
}

TEST_CASE("weights whose memory was taken away after the pass are left out") {
  torch::manual_seed(5);
  const auto probe = probes::make_layer_probe("weights");
  auto view = testing::view_of(torch::randn({5, 12}));
  view.weight = torch::randn({3, 12});
  view.gate = torch::randn({12, 3});
  view.up = torch::randn({12, 3});
  testing::observe(*probe, view);
  view.weight.storage().unsafeGetStorageImpl()->reset();
  view.gate.storage().unsafeGetStorageImpl()->reset();
  const auto out = emitted(*probe);
  CHECK(testing::find(out, "weight/down_norm") == nullptr);
  CHECK(testing::find(out, "weight/gate_norm") == nullptr);
  CHECK(testing::find(out, "weight/alignment") == nullptr);
  CHECK(testing::find(out, "weight/up_norm") != nullptr);
  REQUIRE(out.events.size() == 1);
  CHECK(out.events[0].message == "weights that are whole in a pass alone are not measured: layer");
}

TEST_CASE("the window's updates are told, and a restored probe goes on to the last bit") {
  torch::manual_seed(6);
  const auto gate = torch::randn({12, 6}), up = torch::randn({12, 6}), down = torch::randn({6, 12});
  std::vector<store::Snapshot> outs;
  for (const bool restored : {false, true}) {
    const auto first = probes::make_layer_probe("weights");
    const auto second = probes::make_layer_probe("weights");
    auto* probe = first.get();
    for (int step = 7; step < 10; ++step) {
      auto view = view_of("layer", gate, up);
      view.weight = down * (1 + 0.01 * (step - 7));
      if (restored && step == 8) {
        second->load(first->state());
        probe = second.get();
      }
      const std::vector<session::LayerView> layers = {view};
      probe->observe({.step = step, .layers = &layers});
    }
    outs.push_back(emitted(*probe));
  }
  const double size = 1 + std::pow(1.01, 2);
  CHECK(value(outs[0], "weight/down_update") == Approx(0.01 * std::sqrt(2 / size)).epsilon(1e-4));
  CHECK(value(outs[0], "weight/gate_update") == 0);
  // Two of three matrices, of as many entries, stood still.
  CHECK(value(outs[0], "weight/unchanged") == Approx(2.0 / 3));
  for (const auto& scalar : outs[0].scalars) {
    INFO(scalar.name);
    CHECK(value(outs[1], scalar.name) == scalar.value);
  }
  CHECK(outs[0].scalars.size() == outs[1].scalars.size());
}

TEST_CASE("a window of one step has no update to tell of") {
  torch::manual_seed(7);
  const auto probe = probes::make_layer_probe("weights");
  testing::observe(*probe, view_of("layer", torch::randn({12, 6}), torch::randn({12, 6})));
  CHECK(testing::find(emitted(*probe), "weight/gate_update") == nullptr);
}

TEST_CASE("of several processes one that holds a layer measures it") {
  torch::manual_seed(3);
  const auto gate = torch::randn({12, 6}), up = torch::randn({12, 6});
  // "a" is in both, "b" in the second alone: a stage of a pipeline.
  std::vector<store::Snapshot> outs(2);
  testing::in_threads(2, [&](const std::shared_ptr<tensor::Group>& group) {
    const auto probe = probes::make_layer_probe("weights");
    std::vector<session::LayerView> layers = {view_of("a", gate, up)};
    if (group->rank() == 1) layers.push_back(view_of("b", up, gate));
    probe->observe({.step = 0, .layers = &layers});
    probe->emit_with(*group, 1, outs[static_cast<std::size_t>(group->rank())]);
  });
  std::multiset<std::string> written;
  for (const auto& out : outs)
    for (const auto& scalar : out.scalars)
      if (scalar.name == "weight/gate_norm") written.insert(scalar.layer);
  CHECK(written == std::multiset<std::string>{"a", "b"});
}
