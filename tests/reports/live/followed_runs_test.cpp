// SPDX-License-Identifier: Apache-2.0
#include "reports/live/followed_runs.h"

#include <algorithm>
#include <fstream>

#include "kappascope/core/error.h"
#include "reports/sample_run.h"
#include "support/catch.h"
#include "support/child.h"

namespace kappascope::reports {
namespace {

using Catch::Contains;
using kappascope::testing::Child;
namespace fs = std::filesystem;

store::Snapshot losses(std::int64_t step) {
  return {.step = step,
          .scalars = {{.name = "loss/train", .value = 1.0 / static_cast<double>(step + 1)}}};
}

std::vector<double> values(const Arm& arm) {
  std::vector<double> out;
  for (const auto& point : arm.series("loss/train")) out.push_back(point.scalar.value);
  return out;
}

/// Whether this process has a file of that folder open.
bool has_open(const fs::path& dir) {
  return std::ranges::any_of(fs::directory_iterator("/proc/self/fd"), [&](const auto& entry) {
    std::error_code gone;
    return fs::read_symlink(entry.path(), gone).string().starts_with(dir.string());
  });
}

}  // namespace

TEST_CASE("what is written is read on, and between two looks nothing is open", "[followed_runs]") {
  const TemporaryFolder folder;
  auto writer = store::RunWriter::create(folder / "a", {{"label", "first"}});
  writer.write(losses(0));
  FollowedRuns runs({folder / "a"});
  CHECK(runs.update());
  REQUIRE(runs.arms().size() == 1);
  CHECK(runs.arms()[0].label == "first");
  CHECK(values(runs.arms()[0]) == std::vector<double>{1});
  writer.write(losses(1));
  writer.write(losses(2));
  CHECK(runs.update());
  CHECK(values(runs.arms()[0]) == values(read_arms({folder / "a"})[0]));
  CHECK(runs.arms()[0].last_step == 2);
  CHECK(runs.arms()[0].state == "running");
  CHECK(has_open(folder / "a"));  // the writer of this test
  writer.set_state("finished");
  { const auto ended = std::move(writer); }
  CHECK(runs.update());
  CHECK(runs.arms()[0].state == "finished");
  CHECK_FALSE(has_open(folder / "a"));
}

TEST_CASE("a value that replaced the last one, and a series that is new, are seen",
          "[followed_runs]") {
  const TemporaryFolder folder;
  auto writer = store::RunWriter::create(folder / "a", {});
  writer.write(losses(5));
  FollowedRuns runs({folder / "a"});
  runs.update();
  writer.write(
      {.step = 5,
       .scalars = {{.name = "loss/train", .value = 7}, {.name = "loss/test", .value = 3}}});
  runs.update();
  CHECK(values(runs.arms()[0]) == std::vector<double>{7});
  CHECK(runs.arms()[0].series("loss/test").size() == 1);
}

TEST_CASE("a run that was killed is dead, with its last sign of life; resumed, it goes on",
          "[followed_runs]") {
  const TemporaryFolder folder;
  Child child([&] {
    auto writer = store::RunWriter::create(folder / "a", {});
    for (int step = 0; step < 4; ++step) writer.write(losses(step));
    std::ofstream(folder / "ready").put('x');
    pause();
    return std::string();
  });
  while (!fs::exists(folder / "ready")) usleep(1000);
  FollowedRuns runs({folder / "a"});
  runs.update();
  CHECK(runs.arms()[0].state == "running");
  child.kill_and_wait();
  CHECK(runs.update());
  CHECK(runs.arms()[0].state == "dead");
  CHECK(runs.arms()[0].last_step == 3);
  CHECK(runs.arms()[0].last_written == store::RunReader(folder / "a").last_written());
  CHECK_FALSE(has_open(folder / "a"));

  auto writer = store::RunWriter::resume(folder / "a", 1);
  writer.write({.step = 2, .scalars = {{.name = "loss/train", .value = 9}}});
  CHECK(runs.update());
  CHECK(runs.arms()[0].state == "running");
  CHECK(values(runs.arms()[0]) == std::vector<double>{1, 0.5, 9});
}

TEST_CASE("runs that appear in a folder are added behind those that are there", "[followed_runs]") {
  const TemporaryFolder folder;
  FollowedRuns runs({folder.path()});
  CHECK_FALSE(runs.update());
  CHECK(runs.arms().empty());
  write_sample_run(folder / "b", {.label = "same"});
  CHECK(runs.update());
  REQUIRE(runs.arms().size() == 1);
  write_sample_run(folder / "deep/a", {.label = "same"});
  while (!runs.update() || runs.arms().size() < 2) usleep(20'000);  // folders are searched in turn
  CHECK(runs.arms()[0].label == "same (b)");
  CHECK(runs.arms()[1].label == "same (a)");
}

TEST_CASE("a run that is removed or broken is told, and another in its place is read anew",
          "[followed_runs]") {
  const TemporaryFolder folder;
  {
    auto writer = store::RunWriter::create(folder / "a", {{"created", "2026-01-31T12:00:00Z"}});
    for (int step = 0; step < 3; ++step) writer.write(losses(step));
  }
  FollowedRuns runs({folder / "a"});
  runs.update();
  CHECK(runs.problems().empty());
  fs::remove_all(folder / "a");
  CHECK(runs.update());
  CHECK_FALSE(runs.update());
  REQUIRE(runs.problems().size() == 1);
  CHECK_THAT(runs.problems()[0], Contains("it is gone"));
  CHECK(values(runs.arms()[0]).size() == 3);

  auto writer = store::RunWriter::create(folder / "a", {{"created", "2026-02-01T12:00:00Z"}});
  writer.write({.step = 8, .scalars = {{.name = "loss/train", .value = 4}}});
  CHECK(runs.update());
  CHECK(runs.problems().empty());
  CHECK(values(runs.arms()[0]) == std::vector<double>{4});

  fs::create_directories(folder / "b");
  std::ofstream(folder / "b/run.sqlite") << std::string(2000, 'x');
  FollowedRuns broken({folder / "a", folder / "b"});
  broken.update();
  CHECK(broken.arms().size() == 1);
  REQUIRE(broken.problems().size() == 1);
  CHECK_THAT(broken.problems()[0], Contains("b: "));
}

TEST_CASE("a place that is not there is refused", "[followed_runs]") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(FollowedRuns({folder / "no"}), Contains("no run and no folder"));
  CHECK_THROWS_AS(FollowedRuns({}), Error);
}

}  // namespace kappascope::reports
