// SPDX-License-Identifier: Apache-2.0
#include "store/run_stamp.h"

#include <chrono>
#include <fstream>

#include "kappascope/store/run.h"
#include "store/fixture.h"
#include "support/catch.h"
#include "support/child.h"

using namespace kappascope::store;
using namespace kappascope::store::test;
using kappascope::testing::Child;
namespace fs = std::filesystem;

namespace {

/// Makes the files as old as they look after a while.
void let_time_pass(const fs::path& dir) {
  const auto past = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (const char* name : {"run.sqlite", "run.sqlite-wal"}) {
    if (fs::exists(dir / name)) fs::last_write_time(dir / name, past);
  }
}

}  // namespace

TEST_CASE("a stamp changes with every write, and a fresh one cannot be relied on", "[run_stamp]") {
  const TemporaryFolder folder;
  CHECK(stamp_of(folder / "run").database == 0);
  auto writer = RunWriter::create(folder / "run", {});
  writer.write(snapshot(0));
  auto before = stamp_of(folder / "run");
  CHECK_FALSE(before.settled);
  CHECK_FALSE(before.still(before));
  let_time_pass(folder / "run");
  before = stamp_of(folder / "run");
  CHECK(before.settled);
  CHECK(before.still(stamp_of(folder / "run")));
  CHECK_FALSE(RunReader(folder / "run").series().empty());
  CHECK(before.still(stamp_of(folder / "run")));
  writer.write(snapshot(1));
  CHECK_FALSE(before.still(stamp_of(folder / "run")));
}

TEST_CASE("the lock is seen while a writer lives, and not after it was killed", "[run_stamp]") {
  const TemporaryFolder folder;
  CHECK_FALSE(is_being_written(folder / "run"));
  Child child([&] {
    auto writer = RunWriter::create(folder / "run", {});
    std::ofstream(folder / "ready").put('x');
    pause();
    return std::string();
  });
  while (!fs::exists(folder / "ready")) usleep(1000);
  CHECK(is_being_written(folder / "run"));
  child.kill_and_wait();
  CHECK_FALSE(is_being_written(folder / "run"));
}
