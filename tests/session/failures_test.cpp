// SPDX-License-Identifier: Apache-2.0
// What a probe cannot do costs its window: drawn over the stages of a window, the kinds of
// exceptions, the windows of a run and the processes of a group.
#include "session/failures.h"

#include <fmt/format.h>
#include <torch/types.h>

#include <array>
#include <functional>
#include <new>
#include <random>
#include <set>
#include <string>

#include "core/temporary_folder.h"
#include "kappascope/core/error.h"
#include "kappascope/session/session.h"
#include "kappascope/store/run_reader.h"
#include "support/catch.h"
#include "support/thread_group.h"

using namespace kappascope;

namespace {

enum class Stage { kBegin, kObserve, kEmit, kStore, kName };
constexpr std::array kStages = {
    Stage::kBegin, Stage::kObserve, Stage::kEmit, Stage::kStore, Stage::kName};

/// What ends a stage, and what its event says.
struct Fault {
  std::function<void()> raise;
  std::string words;
};

const std::vector<Fault>& faults() {
  static const std::vector<Fault> all = {
      {[] { throw Error("the caller's mistake"); }, "the caller's mistake"},
      {[] { throw std::runtime_error("dsyevd gave 3"); }, "dsyevd gave 3"},
      {[] { throw std::bad_alloc(); }, "not enough memory"},
      {[] { throw 7; }, "unknown type"},
      {[] { static_cast<void>(torch::empty({std::int64_t{1} << 46}, torch::kDouble)); }, "memory"},
      {[] { TORCH_CHECK(false, "linalg.eigh: it did not converge"); }, "did not converge"},
  };
  return all;
}

/// Where a run fails.
struct Plan {
  Stage stage{};
  std::size_t fault = 0;
  std::int64_t window = 0;
  std::set<int> ranks{};
};

/// Windows end at steps 1, 4, 8 and 12.
constexpr session::Schedule kSchedule{4, 2};
constexpr std::int64_t kSteps = 13;

std::int64_t window_of(std::int64_t step) {
  return step < 2 ? 0 : (step + 3) / 4;
}

/// Counts the steps of its windows.
class Counting final : public session::Probe {
 public:
  Counting(const Plan& plan, int rank) : plan_(plan), fails_here_(plan.ranks.contains(rank)) {}
  [[nodiscard]] std::string_view name() const override { return "counting"; }
  [[nodiscard]] session::Needs needs() const override { return {}; }
  void observe(const session::StepView& view) override {
    step_ = view.step;
    ++steps_;
    fail(Stage::kObserve);
  }
  void emit(store::Snapshot& out) override {
    fail(Stage::kEmit);
    store::Scalar count{.name = "user/steps", .value = static_cast<double>(steps_)};
    if (fails(Stage::kName)) count.name = "no/such/series";
    out.scalars.push_back(count);
    if (fails(Stage::kStore)) out.arrays.push_back({"user/odd", "", {3}, {1, 2}});
    steps_ = 0;
  }
  [[nodiscard]] tensor::State state() const override {
    // Asked for once when the session is made, then before each window.
    if (fails_here_ && plan_.stage == Stage::kBegin && asked_++ == plan_.window + 1)
      faults()[plan_.fault].raise();
    tensor::State out;
    out.set("steps", steps_);
    return out;
  }
  void load(const tensor::State& state) override { steps_ = state.integer("steps"); }

 private:
  [[nodiscard]] bool fails(Stage stage) const {
    return fails_here_ && stage == plan_.stage && window_of(step_) == plan_.window;
  }
  void fail(Stage stage) const {
    if (fails(stage)) faults()[plan_.fault].raise();
  }

  const Plan& plan_;
  bool fails_here_;
  std::int64_t step_ = -1, steps_ = 0;
  mutable std::int64_t asked_ = 0;
};

void train(const std::filesystem::path& dir,
           const Plan& plan,
           const std::shared_ptr<tensor::Group>& group) {
  const int rank = group ? group->rank() : 0;
  std::optional<store::RunWriter> run;
  if (rank == 0) run = store::RunWriter::create(dir, {});
  std::vector<session::ScheduledProbe> probes;
  probes.push_back({std::make_unique<Counting>(plan, rank), kSchedule});
  session::SessionOptions options;
  options.group = group;
  session::Session session(std::move(run), std::move(probes), options);
  for (std::int64_t step = 0; step < kSteps; ++step) session.step(1);
  session.close();
}

}  // namespace

TEST_CASE("whatever fails in a window costs that window alone, and no process waits for another") {
  std::mt19937 random(5);
  const auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<>(0, static_cast<int>(n) - 1)(random);
  };
  for (int draw = 0; draw < 60; ++draw) {
    const int size = 1 + below(3);
    Plan plan{.stage = kStages.at(static_cast<std::size_t>(draw) % kStages.size()),
              .fault = static_cast<std::size_t>(below(faults().size())),
              .window = below(4)};
    plan.ranks.insert(below(static_cast<std::size_t>(size)));
    if (below(3) == 0)
      for (int rank = 0; rank < size; ++rank) plan.ranks.insert(rank);
    // A probe that does not know of groups measures in process 0.
    const bool ends_there = plan.stage != Stage::kBegin && plan.stage != Stage::kObserve;
    if (ends_there) plan.ranks.insert(0);
    CAPTURE(draw, size, static_cast<int>(plan.stage), plan.fault, plan.window, plan.ranks);
    const TemporaryFolder folder;
    if (size == 1) {
      train(folder / "run", plan, nullptr);
    } else {
      testing::in_threads(size, [&](const auto& group) { train(folder / "run", plan, group); });
    }
    const store::RunReader run(folder / "run");
    CHECK(run.state() == "finished");
    CHECK(run.scalars({"loss/train", ""}).size() == kSteps);
    std::vector<std::int64_t> lost, measured;
    for (const auto& [step, time, event] : run.events()) {
      CHECK(event.kind == "probe_failed");
      CHECK_THAT(event.message, Catch::Contains("probe counting"));
      if (plan.stage == Stage::kName) CHECK_THAT(event.message, Catch::Contains("no/such/series"));
      if (plan.stage == Stage::kStore) CHECK_THAT(event.message, Catch::Contains("user/odd"));
      if (!ends_there || plan.stage == Stage::kEmit)
        CHECK_THAT(event.message, Catch::Contains(faults()[plan.fault].words));
      lost.push_back(step);
    }
    const bool in_leader = plan.stage == Stage::kStore || plan.stage == Stage::kName;
    const auto at = plan.window == 0 ? 1 : 4 * plan.window;
    CHECK(lost == std::vector<std::int64_t>(in_leader ? 1 : plan.ranks.size(), at));
    for (const auto& [step, scalar] : run.scalars({"user/steps", ""})) {
      measured.push_back(step);
      CHECK(scalar.value == 2);
    }
    std::vector<std::int64_t> others = {1, 4, 8, 12};
    std::erase(others, at);
    CHECK(measured == others);
  }
}
