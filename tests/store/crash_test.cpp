// SPDX-License-Identifier: Apache-2.0
// What is left of a run when its writer is killed, when the disk is full, and what others see
// while it is being written.
#include <SQLiteCpp/SQLiteCpp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <random>
#include <thread>

#include "kappascope/core/error.h"
#include "store/check.h"
#include "store/fixture.h"
#include "support/catch.h"
#include "support/child.h"

using namespace kappascope;
using namespace kappascope::store;
using namespace kappascope::store::test;
using Catch::Matchers::Contains;
using kappascope::testing::Child;
namespace fs = std::filesystem;

namespace {

/// Snapshots without end, after what is there.
std::string write_until_killed(const fs::path& dir) {
  const bool fresh = !fs::exists(dir / "run.sqlite");
  const std::int64_t last = fresh ? -1 : RunReader(dir).last_step();
  auto writer = fresh ? RunWriter::create(dir, {{"seed", "7"}}) : RunWriter::resume(dir, last);
  for (std::int64_t step = last + 1;; ++step) writer.write(snapshot(step));
}

/// Every step from 0 to the last is there with all its scalars, its array and its event.
void check_whole(const fs::path& dir) {
  SQLite::Database sql((dir / "run.sqlite").string(), SQLite::OPEN_READWRITE);
  CHECK(sql.execAndGet("PRAGMA integrity_check").getString() == "ok");
  const int last = sql.execAndGet("SELECT coalesce(max(step), -1) FROM snapshots").getInt();
  const auto count = [&](const std::string& what) { return sql.execAndGet(what).getInt(); };
  CHECK(count("SELECT count(*) FROM snapshots") == last + 1);
  CHECK(count("SELECT count(*) FROM arrays") == last + 1);
  CHECK(count("SELECT count(*) FROM scalars") == (last + 1) * kScalarsPerSnapshot);
  CHECK(count("SELECT count(*) FROM events WHERE kind = 'snapshot'") == last + 1);
  CHECK(count("SELECT count(*) FROM (SELECT step FROM scalars GROUP BY step HAVING count(*) <> " +
              std::to_string(kScalarsPerSnapshot) + ")") == 0);
}

/// Waits for another process; a minute is for a machine in trouble, not for a slow one.
template <typename Condition>
void wait_until(Condition&& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    REQUIRE(std::chrono::steady_clock::now() < deadline);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

}  // namespace

TEST_CASE("a run is whole after its writer was killed at any moment, and can go on") {
  constexpr int kRounds = 40;
  const TemporaryFolder scratch;
  RunWriter::create(scratch.path(), {{"seed", "7"}}).write(snapshot(0));
  std::mt19937 random(20260131);
  std::uniform_int_distribution<int> microseconds(0, 20'000);
  for (int round = 0; round < kRounds; ++round) {
    INFO("round " << round);
    const std::int64_t before = RunReader(scratch.path()).last_step();
    Child writer([&] { return write_until_killed(scratch.path()); });
    // Half of them may die while they open the run, the others have written something.
    if (round % 2 == 0) {
      wait_until([&] { return RunReader(scratch.path()).last_step() > before; });
    }
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds(random)));
    writer.kill_and_wait();
    CHECK(RunReader(scratch.path()).state() == "dead");
    check_whole(scratch.path());
  }
  CHECK(RunReader(scratch.path()).last_step() >= kRounds / 2);
  CHECK(RunReader(scratch.path()).fact("seed") == "7");
}

TEST_CASE("a writer killed while it makes a run leaves a run or none, never half of one") {
  constexpr int kRounds = 60;
  const TemporaryFolder scratch;
  std::mt19937 random(20260201);
  std::uniform_int_distribution<int> microseconds(0, 6'000);
  for (int round = 0; round < kRounds; ++round) {
    const fs::path dir = scratch / std::to_string(round);
    Child writer([&] { return write_until_killed(dir); });
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds(random)));
    writer.kill_and_wait();
    INFO("round " << round);
    if (fs::exists(dir / "run.sqlite")) {
      CHECK(RunReader(dir).fact("seed") == "7");
      check_whole(dir);
    } else {
      RunWriter::create(dir, {}).write(snapshot(0));
      check_whole(dir);
    }
  }
}

TEST_CASE("a reader sees whole snapshots, and ever more of them, while another process writes") {
  constexpr std::int64_t kEnough = 300;
  const TemporaryFolder scratch;
  Child writer([&] { return write_until_killed(scratch.path()); });
  wait_until([&] { return fs::exists(scratch / "run.sqlite"); });
  const RunReader reader(scratch.path());
  SQLite::Database sql((scratch / "run.sqlite").string(), SQLite::OPEN_READONLY, 5000);
  std::int64_t last = -1;
  wait_until([&] {
    const std::int64_t now = reader.last_step();
    REQUIRE(now >= last);
    last = now;
    const auto count = static_cast<std::size_t>(last + 1);
    REQUIRE(reader.scalars({"kappa/sigma", "blocks.0"}).size() >= count);
    REQUIRE(reader.arrays({"hessian/density", ""}).size() >= count);
    REQUIRE(sql.execAndGet("SELECT count(*) % 20 FROM scalars").getInt() == 0);
    return last >= kEnough;
  });
  CHECK(reader.state() == "running");
  REQUIRE_THROWS_WITH(RunWriter::append(scratch.path()), Contains("is being written by process"));
  writer.kill_and_wait();
  CHECK(reader.state() == "dead");
}

TEST_CASE("a disk that takes no more is an error; what came before stays and the writer goes on") {
  const TemporaryFolder scratch;
  const std::string report =
      Child([&] {
        // The kernel then fails every write beyond the limit, as a full quota does.
        std::signal(SIGXFSZ, SIG_IGN);
        rlimit limit{};
        getrlimit(RLIMIT_FSIZE, &limit);
        auto writer = RunWriter::create(scratch.path(), {});
        const rlimit small{400'000, limit.rlim_max};
        setrlimit(RLIMIT_FSIZE, &small);
        std::string message = "no error";
        std::int64_t step = 0;
        try {
          for (; step < 10'000; ++step) writer.write(snapshot(step));
        } catch (const Error& error) {
          message = error.what();
        }
        const bool intact = RunReader(scratch.path()).last_step() == step - 1 && step > 10;
        setrlimit(RLIMIT_FSIZE, &limit);
        writer.write(snapshot(step));
        return message + (intact ? "; intact" : "; lost") + " until " + std::to_string(step);
      }).report();
  CHECK_THAT(report, Contains("cannot write " + (scratch / "run.sqlite").string()));
  CHECK_THAT(report, Contains("refused to write more"));
  CHECK_THAT(report, Contains("; intact until"));
  check_whole(scratch.path());
}

TEST_CASE("a full disk is named, and with space again the run goes on") {
  const TemporaryFolder scratch;
  const std::string report =
      Child([&] {
        // A small file system that only this process sees; needs the right to make one.
        const int spaces = geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;
        const auto mount_sized = [&](const char* options, unsigned long flags) {
          return mount("none", scratch.path().c_str(), "tmpfs", flags, options) == 0;
        };
        if (unshare(spaces) != 0 ||
            mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            !mount_sized("size=512k,mode=777", 0)) {
          return std::string("no mount");
        }
        auto writer = RunWriter::create(scratch.path(), {});
        std::string message = "no error";
        std::int64_t step = 0;
        try {
          for (; step < 10'000; ++step) writer.write(snapshot(step));
        } catch (const Error& error) {
          message = error.what();
        }
        const bool intact = RunReader(scratch.path()).last_step() == step - 1 && step > 5;
        if (!mount_sized("size=8m", MS_REMOUNT)) return std::string("no remount");
        writer.write(snapshot(step));
        const bool went_on = RunReader(scratch.path()).last_step() == step;
        return message + (intact ? "; intact" : "; lost") + (went_on ? "; went on" : "; stopped");
      }).report();
  if (report == "no mount") {
    WARN("not tried: this system lets nobody mount a small disk; the case above is tried");
    return;
  }
  CHECK_THAT(report, Contains("cannot write " + (scratch / "run.sqlite").string()));
  CHECK_THAT(report, Contains("the disk is full; free some space"));
  CHECK_THAT(report, Contains("; intact; went on"));
}

TEST_CASE("a run that cannot be made leaves nothing that looks like one") {
  const TemporaryFolder scratch;
  const std::string report = Child([&] {
                               std::signal(SIGXFSZ, SIG_IGN);
                               const rlimit tiny{8192, 8192};
                               setrlimit(RLIMIT_FSIZE, &tiny);
                               return RunWriter::create(scratch.path(), {}).dir().string();
                             }).report();
  CHECK_THAT(report, Contains("cannot create " + (scratch / "run.sqlite").string()));
  CHECK_FALSE(fs::exists(scratch / "run.sqlite"));
  RunWriter::create(scratch.path(), {}).write(snapshot(0));
  check_whole(scratch.path());
}

TEST_CASE("a run that disappears while it is written stops its writer, and nothing is lost") {
  for (const std::string way : {"folder removed", "folder renamed", "file removed", "replaced"}) {
    CAPTURE(way);
    const TemporaryFolder scratch;
    const auto dir = scratch / "run";
    auto writer = RunWriter::create(dir, {{"label", "x"}});
    for (int step = 0; step < 3; ++step) writer.write(snapshot(step));
    if (way == "folder removed") fs::remove_all(dir);
    if (way == "folder renamed") fs::rename(dir, scratch / "moved");
    if (way == "file removed") fs::remove(dir / "run.sqlite");
    if (way == "replaced") {
      RunWriter::create(scratch / "other", {});
      fs::rename(scratch / "other/run.sqlite", dir / "run.sqlite");
    }
    CHECK_THROWS_WITH(
        writer.write(snapshot(3)),
        Contains("removed or replaced") && Contains((scratch / "run-rescued").string()));
    CHECK_THROWS_WITH(writer.set_state("finished"),
                      Contains("removed or replaced"));  // and makes no second copy
    CHECK_FALSE(fs::exists(scratch / "run-rescued-2"));
    const RunReader rescued(scratch / "run-rescued");
    CHECK(rescued.last_step() == 2);
    CHECK(rescued.scalars({"kappa/sigma", "blocks.3"}).size() == 3);
    CHECK(rescued.fact("label") == "x");
    CHECK(check_store(scratch / "run-rescued").damage.empty());
  }
}

TEST_CASE("what a kill leaves of a run that was being made is known as such, and nothing else is") {
  const TemporaryFolder scratch;
  const auto dir = scratch / "run";
  CHECK_FALSE(RunWriter::is_half_made(dir));
  fs::create_directories(dir);
  CHECK(RunWriter::is_half_made(dir));
  for (const auto* name : {"writer.lock", "run.sqlite.new", "run.sqlite.new-journal"}) {
    std::ofstream(dir / name) << "x";
    CHECK(RunWriter::is_half_made(dir));
  }
  {
    const auto writer = RunWriter::create(dir, {});
    CHECK_FALSE(RunWriter::is_half_made(dir));
  }
  CHECK_FALSE(fs::exists(dir / "run.sqlite.new"));
  fs::create_directories(scratch / "notes");
  std::ofstream(scratch / "notes/thesis.txt") << "x";
  CHECK_FALSE(RunWriter::is_half_made(scratch / "notes"));
}
