// SPDX-License-Identifier: Apache-2.0
#include "session/running_probe.h"

#include "session/granted_windows.h"
#include "support/catch.h"

using namespace kappascope;
using Names = std::vector<std::string>;

namespace {

// Remembers the layers that it was shown.
class Witness final : public session::Probe {
 public:
  explicit Witness(Names& seen) : seen_(seen) {}
  [[nodiscard]] std::string_view name() const override { return "witness"; }
  [[nodiscard]] session::Needs needs() const override { return {.features = true}; }
  void observe(const session::StepView& view) override {
    for (const auto& layer : *view.layers) seen_.push_back(layer.name);
  }
  void emit(store::Snapshot& /*out*/) override {}
  [[nodiscard]] tensor::State state() const override { return {}; }
  void load(const tensor::State& /*state*/) override {}

 private:
  Names& seen_;
};

const session::LayerPlaces places = {{"a", 2}, {"b", 0}, {"c", 1}};

// What a window of one step shows.
Names window(session::RunningProbe& probe, Names& seen, std::int64_t parts) {
  std::vector<session::LayerView> layers;
  for (const auto* name : {"a", "b", "c", "new"}) {
    layers.emplace_back();
    layers.back().name = name;
  }
  probe.open(parts);
  seen.clear();
  probe.observe({.layers = &layers}, places);
  store::Snapshot out;
  probe.emit({}, nullptr, out);
  return seen;
}

session::RunningProbe running(Names& seen, double budget = 0) {
  return session::RunningProbe({std::make_unique<Witness>(seen), {1, 1, -1, budget}});
}

}  // namespace

TEST_CASE("layers take turns by their places, and each has one turn in a cycle") {
  Names seen;
  auto probe = running(seen);
  CHECK(window(probe, seen, 1) == Names{"a", "b", "c", "new"});
  CHECK(window(probe, seen, 2) == Names{"a", "b"});
  CHECK(window(probe, seen, 2) == Names{"c", "new"});
  CHECK(window(probe, seen, 3) == Names{"b", "new"});
  CHECK(window(probe, seen, 3) == Names{"c"});
  CHECK(window(probe, seen, 3) == Names{"a"});
  CHECK(window(probe, seen, 1) == Names{"a", "b", "c", "new"});
}

TEST_CASE("a window that is left out takes nobody's turn") {
  Names seen;
  auto probe = running(seen);
  CHECK(window(probe, seen, 2) == Names{"a", "b"});
  probe.open(0);
  CHECK_FALSE(probe.observes(0));
  CHECK(window(probe, seen, 2) == Names{"c", "new"});
}

TEST_CASE("the number of parts changes between two cycles only") {
  Names seen;
  auto probe = running(seen);  // without a budget one part is enough
  window(probe, seen, 3);
  CHECK(probe.affordable({}, 4) == 3);
  window(probe, seen, 3);
  CHECK(probe.affordable({}, 4) == 3);
  window(probe, seen, 3);
  CHECK(probe.affordable({}, 4) == 1);
}

TEST_CASE("a window that was saved goes on with the layers of its turn") {
  Names seen, others;
  auto probe = running(seen);
  window(probe, seen, 2);
  probe.open(2);
  auto resumed = running(others);
  resumed.load(probe.state());
  CHECK(resumed.observes(0));
  const std::vector<session::LayerView> layers = [] {
    std::vector<session::LayerView> out(2);
    out[0].name = "a";
    out[1].name = "c";
    return out;
  }();
  resumed.observe({.layers = &layers}, places);
  CHECK(others == Names{"c"});

  auto damaged = probe.state();
  damaged.set("turn", std::int64_t{2});
  CHECK_THROWS_WITH(resumed.load(damaged), Catch::Contains("turn 2 of 2"));
}

TEST_CASE("what process 0 decides arrives whole") {
  const session::GrantedWindows sent{{1, 0, 3}, {{"blocks.1", 0}, {"blocks.0", 1}}};
  const auto got = session::granted_windows(session::state_of(sent));
  CHECK(got.parts == sent.parts);
  CHECK(got.places == sent.places);
  const auto none = session::granted_windows(session::state_of({{1}, {}}));
  CHECK(none.parts == std::vector<std::int64_t>{1});
  CHECK(none.places.empty());
}
