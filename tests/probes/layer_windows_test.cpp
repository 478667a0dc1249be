// SPDX-License-Identifier: Apache-2.0
// Layers whose window fails, in one process or in several, at any stage: they fall away, the others
// are measured as if nothing had been.
#include "probes/layer_windows.h"

#include <fmt/format.h>
#include <torch/types.h>

#include <array>
#include <atomic>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>

#include "fixture.h"
#include "kappascope/core/error.h"
#include "kappascope/probes/standard.h"
#include "kappascope/store/run_reader.h"
#include "session/passes.h"
#include "support/catch.h"
#include "support/thread_group.h"

using namespace kappascope;

namespace {

enum class Stage { kObserve, kSend, kReceive, kMerge, kWrite };
constexpr std::array kStages = {
    Stage::kObserve, Stage::kSend, Stage::kReceive, Stage::kMerge, Stage::kWrite};

// Of the process that this thread is: throws where it fails.
thread_local std::function<void(Stage, const std::string&)> stage;

struct Sum {
  double value = 0;
  std::string name{};

  Sum(std::string layer, int rank) : value(std::pow(2.0, rank)), name(std::move(layer)) {}
  explicit Sum(const tensor::State& state)
      : value(state.number("value")), name(state.text("name")) {
    stage(Stage::kReceive, name);
  }
  [[nodiscard]] tensor::State state() const {
    stage(Stage::kSend, name);
    tensor::State out;
    out.set("value", value);
    out.set("name", name);
    return out;
  }
  void merge(const Sum& other) {
    stage(Stage::kMerge, other.name);
    value += other.value;
  }
  void write(const std::string& layer, store::Snapshot& out) const {
    out.scalars.push_back({.name = "user/sum", .layer = layer, .value = value});
    stage(Stage::kWrite, layer);
  }
};

class Sums final : public probes::LayerWindows<Sum> {
 public:
  explicit Sums(int rank) : rank_(rank) {}
  [[nodiscard]] std::string_view name() const override { return "sums"; }
  [[nodiscard]] session::Needs needs() const override { return {}; }

 private:
  void add_pass(int64_t /*step*/, const session::LayerView& view) override {
    layers().try_emplace(view.name, view.name, rank_);
    stage(Stage::kObserve, view.name);
  }
  int rank_;
};

}  // namespace

TEST_CASE("a layer that fails in one process at any stage falls away in all, the others stay") {
  std::mt19937 random(7);
  const auto below = [&](int n) { return std::uniform_int_distribution<>(0, n - 1)(random); };
  std::map<Stage, int> failed_at;
  for (int draw = 0; draw < 250; ++draw) {
    const int size = 2 + below(3), count = 1 + below(6), bad_rank = below(size);
    const auto bad_stage = kStages.at(static_cast<std::size_t>(draw) % kStages.size());
    std::map<std::string, std::set<int>> holders;
    for (int i = 0; i < count; ++i) {
      auto& ranks = holders[fmt::format("layer {}", i)];
      ranks.insert(below(size));
      for (int rank = 0; rank < size; ++rank)
        if (below(3) > 0) ranks.insert(rank);
    }
    const auto bad = fmt::format("layer {}", below(count));
    std::atomic<bool> raised{false};
    std::vector<store::Snapshot> outs(static_cast<std::size_t>(size));
    testing::in_threads(size, [&](const auto& group) {
      const int rank = group->rank();
      stage = [&](Stage now, const std::string& name) {
        if (now != bad_stage || rank != bad_rank || name != bad) return;
        raised = true;
        throw std::bad_alloc();
      };
      Sums probe(rank);
      std::vector<session::LayerView> views;
      for (const auto& [name, ranks] : holders)
        if (ranks.contains(rank)) views.emplace_back().name = name;
      probe.observe({.layers = &views});
      probe.emit_with(*group, 1, outs.at(static_cast<std::size_t>(rank)));
    });
    CAPTURE(draw, size, count, bad, bad_rank, static_cast<int>(bad_stage), raised.load());
    std::map<std::string, double> sums;
    std::size_t events = 0;
    for (const auto& out : outs) {
      for (const auto& scalar : out.scalars) CHECK(sums.emplace(scalar.layer, scalar.value).second);
      for (const auto& event : out.events) {
        CHECK(event.message == "probe sums in layer " + bad +
                                   ": not enough memory; the layer is left out of this window");
        ++events;
      }
    }
    CHECK(events == (raised ? 1 : 0));
    if (raised) ++failed_at[bad_stage];
    for (const auto& [name, ranks] : holders) {
      double expected = 0;
      for (const int rank : ranks) expected += std::pow(2.0, rank);
      CAPTURE(name);
      if (raised && name == bad) {
        CHECK_FALSE(sums.contains(name));
      } else {
        REQUIRE(sums.contains(name));
        CHECK(sums.at(name) == expected);
      }
    }
  }
  for (const auto stage : kStages) CHECK(failed_at[stage] > 5);
}

TEST_CASE("a layer for which there is no memory costs its own windows, whoever has it") {
  // The products of 6·10^6 features are 150 TB: more than a process has addresses for.
  for (const int size : {1, 2}) {
    for (const bool later : {false, true}) {
      for (const int rank_of_wide : std::set<int>{0, size - 1}) {
        CAPTURE(size, later, rank_of_wide);
        const TemporaryFolder folder;
        const auto train = [&](const std::shared_ptr<tensor::Group>& group) {
          const int rank = group ? group->rank() : 0;
          probes::ProbeOptions options;
          options.every = options.window = 1;
          options.budget = 0;
          options.sample_rows = 2;
          for (const auto* off : {"gradient_variance", "intercept"})
            options.layer_probes.set(off, false);
          session::SessionOptions with;
          with.group = group;
          session::Session session(
              probes::new_run(folder / "run", probes::ExistingRun::kRefuse, {}, group.get()),
              probes::standard_probes({}, options),
              with);
          for (int step = 0; step < 4; ++step) {
            const auto pass = [&](const std::string& layer, std::int64_t rows, std::int64_t width) {
              const auto phi = torch::randn({rows, 4}).repeat({1, width / 4});
              const auto number = session.passes()->forward({layer, phi, {}, 0.0, {}, true});
              session.passes()->backward(number, {});
            };
            pass("narrow", 8, 4);
            if (rank == rank_of_wide && (step % 2 == 0) != later) pass("wide", 2, 6'000'000);
            session.step(1);
          }
          session.close();
        };
        if (size == 1) {
          train(nullptr);
        } else {
          testing::in_threads(size, train);
        }
        const store::RunReader run(folder / "run");
        CHECK(run.state() == "finished");
        CHECK(run.scalars({"kappa/sigma", "narrow"}).size() == 4);
        CHECK(run.scalars({"kappa/sigma", "wide"}).empty());
        std::vector<std::int64_t> steps;
        for (const auto& [step, time, event] : run.events()) {
          CHECK(event.kind == "probe_failed");
          CHECK_THAT(event.message,
                     Catch::Contains("probe features in layer wide") && Catch::Contains("memory"));
          steps.push_back(step);
        }
        CHECK(steps == (later ? std::vector<std::int64_t>{1, 3} : std::vector<std::int64_t>{0, 2}));
      }
    }
  }
}
