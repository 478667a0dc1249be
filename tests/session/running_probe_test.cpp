// SPDX-License-Identifier: Apache-2.0
#include "session/running_probe.h"

#include <fmt/format.h>
#include <torch/types.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <set>

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

std::vector<session::LayerView> layers_of(const Names& names, std::int64_t width = 1) {
  std::vector<session::LayerView> layers(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    layers[i].name = names[i];
    layers[i].features = torch::zeros({1, 1}).expand({1, width});
  }
  return layers;
}

// What a window of one step shows.
Names window(session::RunningProbe& probe, Names& seen, session::Grant grant) {
  const auto layers = layers_of({"a", "b", "c", "new"});
  probe.open(std::move(grant));
  seen.clear();
  probe.observe({.layers = &layers});
  store::Snapshot out;
  probe.emit({}, nullptr, out);
  return seen;
}

session::RunningProbe running(Names& seen, double budget = 0) {
  return session::RunningProbe({std::make_unique<Witness>(seen), {1, 1, -1, budget}});
}

/// A training on a clock that stands still but for what the probe and the steps take.
struct Simulated {
  session::Schedule schedule;
  double step_seconds = 0;
  std::vector<std::int64_t> widths;
  double unit = 0;       // seconds that a window takes for a width of 1, as its square
  double presumed = -1;  // what is presumed of that
  double speed = 1;      // of the device
  bool on_device = true;
};

struct Measured {
  std::vector<std::vector<std::string>> windows;  // the layers of each
  std::vector<std::int64_t> ends;
  std::vector<double> seconds;  // that each took
  std::int64_t last_skip = -1;
  std::vector<std::string> told;  // of each window that was left out
};

// Takes `unit` · width² a layer at the end of the window.
class Costly final : public session::Probe {
 public:
  Costly(double& clock, const Simulated& training, Measured& measured)
      : clock_(clock), training_(training), measured_(measured) {}
  [[nodiscard]] double presumed_cost() const override {
    return training_.presumed * (training_.on_device ? training_.speed : 1);
  }
  [[nodiscard]] bool works_on_device() const override { return training_.on_device; }
  [[nodiscard]] std::string_view name() const override { return "costly"; }
  [[nodiscard]] session::Needs needs() const override { return {.features = true}; }
  void observe(const session::StepView& view) override {
    for (const auto& layer : *view.layers) seen_[layer.name] = layer.features.size(1);
  }
  void emit(store::Snapshot& /*out*/) override {
    measured_.windows.emplace_back();
    measured_.seconds.push_back(0);
    for (const auto& [name, width] : seen_) {
      measured_.windows.back().push_back(name);
      measured_.seconds.back() += training_.unit * static_cast<double>(width * width);
    }
    clock_ += measured_.seconds.back();
    seen_.clear();
  }
  [[nodiscard]] tensor::State state() const override { return {}; }
  void load(const tensor::State& /*state*/) override {}

 private:
  double& clock_;
  const Simulated& training_;
  Measured& measured_;
  std::map<std::string, std::int64_t> seen_;
};

Measured simulate(const Simulated& training, std::int64_t steps) {
  Measured out;
  double probing = 0;
  session::RunningProbe probe({std::make_unique<Costly>(probing, training, out), training.schedule},
                              training.speed,
                              [&] { return probing; });
  session::KnownLayers known(training.widths);
  std::vector<session::LayerView> layers;
  for (std::size_t i = 0; i < training.widths.size(); ++i)
    layers.push_back(layers_of({fmt::format("layer {:03}", i)}, training.widths[i]).front());
  for (std::int64_t step = 0; step < steps; ++step) {
    const session::Progress now{
        step, static_cast<double>(step) * training.step_seconds, training.step_seconds};
    if (probe.opens_window(step)) {
      auto grant = probe.affordable(now, known);
      if (!grant.open) {
        out.last_skip = step;
        out.told.push_back(probe.budget_in_words(now, known));
      }
      probe.open(std::move(grant));
    }
    if (probe.observes(step)) {
      probe.observe({.step = step, .layers = &layers});
      for (const auto& layer : layers) known.add(layer.name, session::work_of(layer));
    }
    if (!probe.emits(step)) continue;
    store::Snapshot snapshot;
    probe.emit(now, nullptr, snapshot);
    out.ends.push_back(step);
  }
  return out;
}

}  // namespace

TEST_CASE("a window shows the layers that it was granted, all of them, or the first that passes") {
  Names seen;
  auto probe = running(seen);
  CHECK(window(probe, seen, {}) == Names{"a", "b", "c", "new"});
  CHECK(window(probe, seen, {.layers = session::LayerNames{"b", "c"}}) == Names{"b", "c"});
  CHECK(window(probe, seen, {.layers = session::LayerNames{}}) == Names{"a"});
  probe.open({.open = false});
  CHECK_FALSE(probe.observes(0));
}

TEST_CASE("within a budget a run begins with one layer or all, and then each has its turn") {
  constexpr double kFree = session::Budget::kFree;
  std::mt19937 random(3);
  const auto between = [&](double low, double high) {
    return std::exp(std::uniform_real_distribution<>(std::log(low), std::log(high))(random));
  };
  int in_turn = 0, skipping = 0, whole = 0, cured = 0, overspent = 0, early = 0, unpaid = 0,
      at_once = 0, presumed = 0;
  for (int draw = 0; draw < 300; ++draw) {
    Simulated training;
    training.schedule = {static_cast<std::int64_t>(between(20, 400)),
                         static_cast<std::int64_t>(between(1, 9)),
                         -1,
                         between(1e-3, 0.1)};
    training.step_seconds = between(1e-3, 1);
    const auto count = static_cast<std::size_t>(between(1, 40));
    const auto width = static_cast<std::int64_t>(between(16, 2000));
    for (std::size_t i = 0; i < count; ++i)
      training.widths.push_back(draw % 2 == 0 ? width
                                              : static_cast<std::int64_t>(between(16, 2000)));
    training.unit = between(1e-9, 3e-6);
    const int presumes = draw % 3;  // nothing, rightly, too much
    training.presumed = std::array{-1.0, 1.0, between(1, 30)}.at(presumes) * training.unit;
    training.speed = between(0.3, 300);
    training.on_device = draw % 4 < 3;
    const double share = training.schedule.budget;
    const std::int64_t steps = 20'000;
    const auto found = simulate(training, steps);
    CAPTURE(draw, count, share, training.step_seconds, training.unit, found.ends);
    if (found.windows.empty()) {
      // Presumed too dear for all of the training.
      const double dear = training.presumed * std::pow(std::ranges::max(training.widths), 2);
      CHECK(dear >
            share * static_cast<double>(steps - training.schedule.every) * training.step_seconds);
      ++unpaid;
      continue;
    }
    if (presumes == 0)
      CHECK(found.windows.front().size() == 1);
    else if (found.windows.front().size() > 1)
      ++at_once;
    early += found.ends.front() < training.schedule.every;
    // Where its cost is presumed, training has paid for the first window too.
    const std::size_t begun = presumes == 0 ? 1 : 0;
    // Every layer has as many turns as another, or one more.
    std::map<std::string, int> turns;
    double spent = 0;
    for (std::size_t i = 0; i < found.windows.size(); ++i) {
      spent += found.seconds[i];
      for (const auto& name : found.windows[i]) ++turns[name];
      std::int64_t least = turns.size() < count ? 0 : 1 << 30, most = 0;
      for (const auto& [name, times] : turns) {
        least = std::min<std::int64_t>(least, times);
        most = std::max<std::int64_t>(most, times);
      }
      CHECK(most - least <= 1);
      // The share holds from the beginning on: a window takes no more than was left of it.
      const double now = static_cast<double>(found.ends[i] + 1) * training.step_seconds;
      if (i >= begun) CHECK(spent <= std::max(kFree, share * now) * (1 + 1e-9));
    }
    // The cure that is named for windows that are left out is one: more than the budget in force.
    for (const auto& told : found.told) {
      CAPTURE(told);
      static const std::string kCure = "a budget of ";
      const auto at = told.find(kCure);
      if (at == std::string::npos) {
        CHECK_THAT(told,
                   Catch::Contains("windows have taken") || Catch::Contains("presumed to take"));
        presumed += told.find("presumed to take") != std::string::npos;
        ++overspent;
        continue;
      }
      CHECK(std::stod(told.substr(at + kCure.size())) >= 0.95 * share);  // two digits are told
      ++cured;
    }
    // Windows are left out only where the next layer's cost is not there yet.
    if (found.last_skip >= 0) ++skipping;
    if (turns.size() == count && count > 1 && found.windows.back().size() < count) ++in_turn;
    if (found.last_skip < 0 && found.windows.back().size() == count) ++whole;
  }
  // All of the class was drawn.
  CHECK(in_turn > 20);
  CHECK(skipping > 20);
  CHECK(whole > 20);
  CHECK(cured > 20);
  CHECK(overspent > 20);
  CHECK(early > 20);
  CHECK(unpaid > 5);
  CHECK(at_once > 20);
  CHECK(presumed > 20);
}

TEST_CASE("four layers of 1,536 are measured again and again where the budget pays for one") {
  // 0.9 s a layer, steps of 0.15 s, 1 %: 200 steps pay for 0.3 s.
  const Simulated training{.schedule = {200, 4, -1, 0.01},
                           .step_seconds = 0.15,
                           .widths = {1536, 1536, 1536, 1536},
                           .unit = 0.9 / (1536.0 * 1536.0)};
  const auto found = simulate(training, 6001);
  REQUIRE(found.windows.size() >= 8);
  CHECK(found.windows[0] == Names{"layer 000"});
  CHECK(found.windows[1] == Names{"layer 001"});
  std::set<std::string> all;
  for (const auto& names : found.windows) all.insert(names.begin(), names.end());
  CHECK(all.size() == 4);
}

TEST_CASE("windows as far apart as the span of a budget do not stand in each other's way") {
  // A window every 200 steps takes a little more than half of what 200 steps may cost.
  const Simulated training{.schedule = {200, 4, -1, 0.01},
                           .step_seconds = 0.1,
                           .widths = {512},
                           .unit = 0.21 / (512.0 * 512.0)};
  const auto found = simulate(training, 6001);
  // Each but those that the first, whose cost nobody knew, took the share of.
  CHECK(found.ends.size() >= 28);
}

TEST_CASE("before a step was timed no budget is named that would pay for a window") {
  double clock = 0;
  Measured measured;
  const Simulated training{.schedule = {10, 4, -1, 0.01}, .widths = {512}, .presumed = 1e-6};
  const session::RunningProbe probe(
      {std::make_unique<Costly>(clock, training, measured), training.schedule}, 1, [&] {
        return clock;
      });
  const session::KnownLayers known(training.widths);
  CHECK_THAT(probe.budget_in_words({0, 0, 1e-6}, known),
             Catch::Contains("presumed to take") && !Catch::Contains("a budget of"));
  CHECK_THAT(probe.budget_in_words({1, 1e-3, 1e-3}, known), Catch::Contains("a budget of"));
}

TEST_CASE("what a window takes, and the budget that would pay for it, are those of its layers") {
  // 0.3 s a layer, 3 layers, steps of 0.1 s: 0.9 s of 10 s; the first window takes one layer.
  const Simulated training{
      .schedule = {100, 1, -1, 1e-4}, .widths = {512}, .unit = 0.3 / 512 / 512};
  for (const double part : {1.0, 0.25}) {
    double clock = 0;
    Measured measured;
    session::RunningProbe probe(
        {std::make_unique<Costly>(clock, training, measured), training.schedule, "budget", part},
        1,
        [&] { return clock; });
    session::KnownLayers known;
    const auto layers = layers_of({"a", "b", "c"}, 512);
    probe.open({.layers = session::LayerNames{"a"}, .next = 1});
    probe.observe({.layers = &layers});
    store::Snapshot out;
    probe.emit({0, 0.1, 0.1}, nullptr, out);
    for (const auto& layer : layers) known.add(layer.name, session::work_of(layer));
    const auto words = probe.budget_in_words({100, 10, 0.1}, known);
    CHECK_THAT(words, Catch::Contains("a window of all layers takes about 0.9 s every 100 steps"));
    CHECK_THAT(words, Catch::Contains(part == 1 ? "a budget of 0.09 (" : "a budget of 0.36 ("));
    // One that is granted all has no turn: a layer that comes later is one of them.
    const auto grant = probe.affordable({1'000'000, 1e9, 1000}, known);
    CHECK(grant.open);
    CHECK_FALSE(grant.layers.has_value());
  }
}

TEST_CASE("a window that was saved goes on with the layers of its turn") {
  Names seen, others;
  auto probe = running(seen);
  probe.open({.layers = session::LayerNames{"c"}, .next = 2});
  auto resumed = running(others);
  resumed.load(probe.state());
  CHECK(resumed.observes(0));
  const auto layers = layers_of({"a", "c"});
  resumed.observe({.layers = &layers});
  CHECK(others == Names{"c"});

  auto damaged = probe.state();
  damaged.set("next", std::int64_t{-2});
  CHECK_THROWS_WITH(resumed.load(damaged), Catch::Contains("turn -2"));
}

TEST_CASE("what process 0 decides arrives whole") {
  const std::vector<session::Grant> sent = {{},
                                            {.open = false, .next = 3},
                                            {.layers = session::LayerNames{"blocks.1", "blocks.0"}},
                                            {.layers = session::LayerNames{}}};
  const auto got = session::granted_windows(session::state_of(sent));
  REQUIRE(got.size() == sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) {
    CHECK(got[i].open == sent[i].open);
    CHECK(got[i].layers == sent[i].layers);
    CHECK(got[i].next == sent[i].next);
  }
}

TEST_CASE("a saved state of no turn takes the turn of before away") {
  Names seen;
  auto probe = running(seen, 1);
  const auto fresh = probe.state();
  window(probe, seen, {.open = true, .layers = session::LayerNames{"a"}});
  REQUIRE(probe.state().has("turn_of"));
  probe.load(fresh);
  CHECK_FALSE(probe.state().has("turn_of"));
}
