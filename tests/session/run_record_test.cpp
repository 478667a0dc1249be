// SPDX-License-Identifier: Apache-2.0
#include "session/run_record.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <limits>
#include <map>
#include <optional>
#include <thread>

#include "core/memory.h"
#include "core/temporary_folder.h"
#include "kappascope/core/error.h"
#include "kappascope/session/session.h"
#include "store/check.h"
#include "store/disk.h"
#include "support/catch.h"

using namespace kappascope;
using session::RunRecord;
using store::test::Disk;
namespace id = store::id;

namespace {

/// A disk that can be full, a clock, and a run on them.
struct FullDisk {
  FullDisk()
      : disk([this](const Disk::Asked& asked) {
          if (asked.call != Disk::Call::kWrite || !full) return SQLITE_OK;
          ++refused;
          return SQLITE_FULL;
        }),
        record(store::RunWriter::create(folder / "run", {}), [this] { return now; }) {}

  void add(std::int64_t step, std::size_t numbers = 1) {
    store::Snapshot snapshot{.step = step};
    snapshot.scalars.push_back({.name = id::kLossTrain, .value = static_cast<double>(step)});
    const auto size = static_cast<std::int64_t>(numbers);
    snapshot.arrays.push_back({"user/a", "", {size}, std::vector<double>(numbers, 1.0)});
    record.add(std::move(snapshot));
  }
  [[nodiscard]] std::vector<std::int64_t> steps() const {
    std::vector<std::int64_t> found;
    for (const auto& [step, scalar] :
         store::RunReader(folder / "run").scalars({id::kLossTrain, ""}))
      found.push_back(step);
    return found;
  }

  TemporaryFolder folder;
  bool full = false;
  int refused = 0;
  double now = 0;
  Disk disk;
  RunRecord record;
};

}  // namespace

TEST_CASE("on a full disk nothing is thrown or lost, and few attempts are made") {
  FullDisk it;
  it.add(0);
  it.record.write();
  it.full = true;
  int attempts = 0;
  for (std::int64_t step = 1; step <= 1000; ++step) {
    it.now += 0.1;
    it.add(step);
    const int before = it.refused;
    CHECK_NOTHROW(it.record.write());
    attempts += it.refused > before ? 1 : 0;
  }
  // After 1, 2, 4, 8, 16, 32 and 60 seconds.
  CHECK(attempts >= 6);
  CHECK(attempts <= 8);
  CHECK(it.steps() == std::vector<std::int64_t>{0});
  CHECK_THROWS_WITH(it.record.write_now(), Catch::Contains("the disk is full"));
  it.full = false;
  it.now += 60;
  it.record.write();
  CHECK(it.steps().size() == 1001);
  it.add(1001);
  it.record.write();  // at once again
  CHECK(it.steps().size() == 1002);
  CHECK(store::RunReader(it.folder / "run").events().empty());
}

TEST_CASE("after the first attempt that failed the next comes a second later") {
  FullDisk it;
  it.full = true;
  it.add(0);
  it.record.write();
  const int first = it.refused;
  CHECK(first > 0);
  it.now = 0.9;
  it.record.write();
  CHECK(it.refused == first);
  it.now = 1;
  it.record.write();
  CHECK(it.refused > first);
  // Once the disk has taken it, the waits begin anew.
  it.full = false;
  it.now = 3;
  it.record.write();
  REQUIRE(it.steps().size() == 1);
  it.full = true;
  it.add(1);
  it.record.write();
  const int again = it.refused;
  it.now = 4;
  it.record.write();
  CHECK(it.refused > again);
}

TEST_CASE("what is written at once after a failure ends the wait for the next attempt") {
  FullDisk it;
  it.full = true;
  it.add(0);
  it.record.write();
  it.full = false;
  it.now = 0.5;  // before the next attempt
  it.record.write_now();
  REQUIRE(it.steps().size() == 1);
  it.add(1);
  it.record.write();
  CHECK(it.steps().size() == 2);
}

TEST_CASE("steps are written when something is measured or time has passed, not each at once") {
  const TemporaryFolder folder;
  session::SessionOptions options;
  options.flush_seconds = 1000;
  session::Session session(store::RunWriter::create(folder / "run", {}), {}, options);
  const auto stored = [&] {
    return store::RunReader(folder / "run").scalars({id::kLossTrain, ""}).size();
  };
  for (int i = 0; i < 5; ++i) session.step(1);
  CHECK(stored() == 0);
  session.step(std::numeric_limits<double>::quiet_NaN());  // raises an alarm
  CHECK(stored() == 6);
  session.close();
}

TEST_CASE("a session that is closed needs nothing more of a training step") {
  struct Wanting final : session::Probe {
    [[nodiscard]] std::string_view name() const override { return "wanting"; }
    [[nodiscard]] session::Needs needs() const override { return {.features = true}; }
    void observe(const session::StepView& /*view*/) override {}
    void emit(store::Snapshot& /*out*/) override {}
    [[nodiscard]] tensor::State state() const override { return {}; }
    void load(const tensor::State& /*state*/) override {}
  };
  const TemporaryFolder folder;
  std::vector<session::ScheduledProbe> probes;
  probes.push_back({std::make_unique<Wanting>(), {1, 1, -1, 0}});
  session::Session session(store::RunWriter::create(folder / "run", {}), std::move(probes));
  session.step(1);
  CHECK(session.needs().features);
  session.begin_step();
  session.close();
  CHECK_FALSE(session.needs().features);
  CHECK_THROWS_WITH(session.begin_step(), "the session is closed");
  CHECK_THROWS_WITH(session.complete_step(1), "the session is closed");
}

TEST_CASE("an event is of the last step, or of the one that is named") {
  const TemporaryFolder folder;
  session::Session session(store::RunWriter::create(folder / "run", {}), {});
  for (int step = 0; step < 3; ++step) session.step(1);
  session.event("last", "");
  session.event("first", "", 0);
  session.close();
  std::map<std::string, std::int64_t> steps;
  for (const auto& event : store::RunReader(folder / "run").events())
    steps[event.event.kind] = event.step;
  CHECK(steps.at("last") == 2);
  CHECK(steps.at("first") == 0);
}

TEST_CASE("what is held has a bound, beyond which the oldest goes and the run says so") {
  FullDisk it;
  it.full = true;
  constexpr std::size_t kMebibyte = std::size_t{1} << 17U;  // numbers
  constexpr std::int64_t kSteps = 100;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    it.now += 1;
    it.add(step, kMebibyte);
    it.record.write();
  }
  it.full = false;
  it.record.write_now();
  const auto steps = it.steps();
  REQUIRE_FALSE(steps.empty());
  const auto kept = static_cast<std::int64_t>(steps.size());
  CHECK(kept == static_cast<std::int64_t>(RunRecord::kMostHeld >> 20U) - 1);  // and what is around
  CHECK(steps.front() == kSteps - kept);
  CHECK(steps.back() == kSteps - 1);
  const auto events = store::RunReader(it.folder / "run").events();
  REQUIRE(events.size() == 1);
  CHECK(events[0].event.kind == "not_written");
  CHECK(events[0].step == kSteps - kept - 1);
  CHECK_THAT(events[0].event.message,
             Catch::StartsWith(fmt::format("steps 0 to {} are not stored", kSteps - kept - 1)) &&
                 Catch::Contains("the disk is full"));
}

TEST_CASE("a session steps on while the disk is full, and its close throws") {
  const TemporaryFolder folder;
  bool full = false;
  const Disk disk([&full](const Disk::Asked& asked) {
    return full && asked.call == Disk::Call::kWrite ? SQLITE_FULL : SQLITE_OK;
  });
  session::SessionOptions options;
  options.flush_seconds = 0;
  session::Session session(store::RunWriter::create(folder / "run", {}), {}, options);
  session.step(1);
  full = true;
  for (int i = 0; i < 50; ++i) CHECK_NOTHROW(session.step(1));
  CHECK_THROWS_WITH(session.flush(), Catch::Contains("the disk is full"));
  CHECK_THROWS_WITH(session.close(), Catch::Contains("the disk is full"));
  full = false;
  session.close();
  const store::RunReader run(folder / "run");
  CHECK(run.state() == "finished");
  CHECK(run.scalars({id::kLossTrain, ""}).size() == 51);
}

TEST_CASE("a loss that is not given is not stored, raises no alarm, and steps all the same") {
  const TemporaryFolder folder;
  session::SessionOptions options;
  int raised = 0;
  options.alarms.on_alarm = [&raised](const auto& /*alarm*/) { ++raised; };
  session::Session session(store::RunWriter::create(folder / "run", {}), {}, options);
  session.step(std::nullopt, 0.1);
  session.step(2, 0.1);
  session.step(std::nullopt, 0.1);
  CHECK(raised == 0);
  session.step(std::numeric_limits<double>::quiet_NaN(), 0.1);
  CHECK(raised == 1);
  session.close();
  const store::RunReader run(folder / "run");
  const auto losses = run.scalars({id::kLossTrain, ""});
  REQUIRE(losses.size() == 2);
  CHECK(losses[0].step == 1);
  CHECK(losses[1].step == 3);
  CHECK(run.scalars({id::kLearningRate, ""}).size() == 4);
}

TEST_CASE("facts are written with the steps, once the disk takes them, and replace earlier ones") {
  const TemporaryFolder folder;
  bool full = false;
  const Disk disk([&full](const Disk::Asked& asked) {
    return full && asked.call == Disk::Call::kWrite ? SQLITE_FULL : SQLITE_OK;
  });
  session::SessionOptions options;
  options.flush_seconds = 0;
  session::Session session(store::RunWriter::create(folder / "run", {{"loss", "?"}}), {}, options);
  session.fact("loss", "told");
  session.step(1);
  CHECK(store::RunReader(folder / "run").fact("loss") == "told");
  full = true;
  session.fact("loss", "found");
  session.step(1);
  session.event("note", "held");
  CHECK_THROWS_WITH(session.flush(), Catch::Contains("the disk is full"));
  full = false;
  session.close();
  const store::RunReader run(folder / "run");
  CHECK(run.fact("loss") == "found");
  CHECK(run.events().size() == 1);
  CHECK(run.scalars({id::kLossTrain, ""}).size() == 2);
}

TEST_CASE("what the run would refuse is refused where it is recorded, and holds up nothing") {
  const TemporaryFolder folder;
  session::Session session(store::RunWriter::create(folder / "run", {}), {});
  session.step(1);
  const std::string longer(store::kLongestName + 1, 'x');
  CHECK_THROWS_AS(session.record({.name = "user/" + longer, .value = 1}), Error);
  CHECK_THROWS_AS(session.record({.name = "user/a", .layer = longer, .value = 1}), Error);
  CHECK_NOTHROW(session.close());
  CHECK(store::RunReader(folder / "run").scalars({id::kLossTrain, ""}).size() == 1);
}

TEST_CASE("threads record and flush while another steps, and nothing is lost or torn") {
  const TemporaryFolder folder;
  constexpr int kRecorders = 3, kEach = 300;
  {
    session::SessionOptions options;
    options.flush_seconds = 0;
    session::Session session(store::RunWriter::create(folder / "run", {}), {}, options);
    session.step(0);
    std::array<std::thread, kRecorders> threads;
    for (int t = 0; t < kRecorders; ++t) {
      threads.at(static_cast<std::size_t>(t)) = std::thread([&session, t] {
        for (int i = 0; i < kEach; ++i) {
          session.event("note", fmt::format("{} {}", t, i));
          session.record({.name = fmt::format("user/{}/{}", t, i), .value = 1});
          if (i % 7 == 0) session.flush();
        }
      });
    }
    for (int step = 1; step < 200; ++step) session.step(step);
    for (auto& thread : threads) thread.join();
    session.close();
  }
  const store::RunReader run(folder / "run");
  CHECK(run.scalars({id::kLossTrain, ""}).size() == 200);
  CHECK(run.events().size() == kRecorders * kEach);
  // The losses, what probing cost, what a step took, and memory where the system says it.
  CHECK(run.series().size() == kRecorders * kEach + (peak_memory() ? 4 : 3));
  CHECK(store::check_store(folder / "run").damage.empty());
}

TEST_CASE("a forked process steps, closes and ends without a trace in the run or on its lock") {
  const TemporaryFolder folder;
  session::Session session(store::RunWriter::create(folder / "run", {}), {});
  session.step(0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // Nothing of the test's own may run here.
    bool told = false;
    session.step(7);
    session.event("note", "of the child");
    try {
      session.record({.name = "user/x", .value = 1});
    } catch (const Error&) {
      told = true;
    }
    session.close("failed");
    _exit(told && !session.needs().features ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  CHECK(store::RunReader(folder / "run").state() == "running");
  session.step(1);
  session.close();
  const store::RunReader run(folder / "run");
  CHECK(run.state() == "finished");
  CHECK(run.scalars({id::kLossTrain, ""}).size() == 2);
  CHECK(run.events().empty());
}
