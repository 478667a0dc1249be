// SPDX-License-Identifier: Apache-2.0
// What is said, and what is left, when the disk under a run fails or refuses what SQLite asks of
// it.
#include <fstream>

#include "kappascope/core/error.h"
#include "store/check.h"
#include "store/disk.h"
#include "store/fixture.h"
#include "support/catch.h"

using namespace kappascope;
using namespace kappascope::store;
using namespace kappascope::store::test;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

int agree(const Disk::Asked& /*asked*/) {
  return SQLITE_OK;
}

/// Fails each call of one kind.
Disk::Answer fail(Disk::Call call, int code) {
  return [=](const Disk::Asked& asked) { return asked.call == call ? code : SQLITE_OK; };
}

void write_some(const fs::path& run) {
  auto writer = RunWriter::create(run, {{"label", "x"}});
  for (int step = 0; step < 5; ++step) writer.write(snapshot(step));
}

}  // namespace

TEST_CASE("a flush or a write that the disk refuses is named, and the writer goes on after it") {
  const TemporaryFolder scratch;
  const Disk disk(agree);
  auto writer = RunWriter::create(scratch / "run", {});
  writer.write(snapshot(0));
  const std::pair<int, const char*> flushes[] = {{SQLITE_IOERR_FSYNC, "the disk failed"},
                                                 {SQLITE_IOERR_SHORT_READ, "copy what can be read"},
                                                 {SQLITE_FULL, "the disk is full"},
                                                 {SQLITE_NOTADB, "not a SQLite database"},
                                                 {SQLITE_CORRUPT, ".recover"},
                                                 {SQLITE_BUSY, "another program"},
                                                 {SQLITE_LOCKED, "another program"},
                                                 {SQLITE_READONLY, "check the permissions"},
                                                 {SQLITE_PERM, "check the permissions"},
                                                 {SQLITE_CANTOPEN, "check the permissions"}};
  for (const auto& [code, words] : flushes) {
    CAPTURE(code);
    Disk::answer(fail(Disk::Call::kSync, code));
    CHECK_THROWS_WITH(writer.make_durable(),
                      Contains((scratch / "run/run.sqlite").string()) && Contains(words));
  }
  Disk::answer(fail(Disk::Call::kWrite, SQLITE_FULL));
  CHECK_THROWS_WITH(writer.write(snapshot(1)),
                    Contains("the disk is full") && Contains("was written before is intact"));
  Disk::answer(fail(Disk::Call::kWrite, SQLITE_IOERR_WRITE));
  CHECK_THROWS_WITH(writer.write(snapshot(1)), Contains("the system refused to write more"));
  Disk::answer(fail(Disk::Call::kWrite, SQLITE_NOMEM));
  CHECK_THROWS_WITH(writer.write(snapshot(1)), Contains("not enough memory"));
  Disk::answer(fail(Disk::Call::kWrite, SQLITE_AUTH));  // one of those that nobody expects
  CHECK_THROWS_WITH(writer.write(snapshot(1)), Contains("PRAGMA integrity_check"));
  Disk::answer(agree);
  writer.write(snapshot(1));
  writer.make_durable();
  CHECK(RunReader(scratch / "run").last_step() == 1);
  CHECK(check_store(scratch / "run").damage.empty());
}

TEST_CASE("a page that cannot be read is the disk's failure, and no damage of the run") {
  const TemporaryFolder scratch;
  const auto run = scratch / "run";
  write_some(run);
  const Disk disk(agree);
  // All but the first page, without which nothing is even opened.
  const auto behind_the_first = [](int code) {
    return [=](const Disk::Asked& asked) {
      return asked.call == Disk::Call::kRead && asked.offset >= 4096 ? code : SQLITE_OK;
    };
  };
  Disk::answer(behind_the_first(SQLITE_IOERR_READ));
  CHECK_THROWS_WITH(RunReader(run).series(),
                    Contains("the disk failed") && Contains("copy what can be read"));
  CHECK_THROWS_WITH(check_store(run), Contains("cannot check") && Contains("the disk failed"));
  Disk::answer(behind_the_first(SQLITE_NOMEM));
  CHECK_THROWS_WITH(check_store(run), Contains("not enough memory"));
  // That a page is damaged is told by SQLite itself.
  Disk::answer(behind_the_first(SQLITE_CORRUPT));
  CHECK_FALSE(check_store(run).damage.empty());
  Disk::answer(agree);
  CHECK(check_store(run).damage.empty());
}

TEST_CASE(
    "where memory cannot be shared a run has a rollback journal, which is flushed each time") {
  for (const int code : {SQLITE_IOERR_SHMMAP,
                         SQLITE_IOERR_SHMSIZE,
                         SQLITE_IOERR_SHMOPEN,
                         SQLITE_IOERR_SHMLOCK,
                         SQLITE_CANTOPEN}) {
    CAPTURE(code);
    const TemporaryFolder scratch;
    int flushes = 0;
    const Disk disk([&](const Disk::Asked& asked) {
      flushes += asked.call == Disk::Call::kSync ? 1 : 0;
      return asked.call == Disk::Call::kShare ? code : SQLITE_OK;
    });
    auto writer = RunWriter::create(scratch / "run", {});
    CHECK(RunReader(scratch / "run").fact("journal_mode") == "delete");
    const int before = flushes;
    writer.write(snapshot(0));
    CHECK(flushes > before);
    const int written = flushes;
    writer.make_durable();  // which there is nothing to do for
    CHECK(flushes == written);
    CHECK(RunReader(scratch / "run").last_step() == 0);
  }
  const TemporaryFolder scratch;
  const Disk disk(fail(Disk::Call::kShare, SQLITE_FULL));
  CHECK_THROWS_WITH(RunWriter::create(scratch / "run", {}), Contains("the disk is full"));
}

TEST_CASE("a run that nobody writes is read where memory cannot be shared, one with a log is not") {
  const TemporaryFolder scratch;
  const auto run = scratch / "50% of #1?";
  write_some(run);
  {
    const Disk disk(fail(Disk::Call::kShare, SQLITE_CANTOPEN));
    CHECK(RunReader(run).last_step() == 4);
    CHECK(RunReader(run).fact("label") == "x");
  }
  {
    const Disk disk(fail(Disk::Call::kShare, SQLITE_FULL));
    CHECK_THROWS_WITH(RunReader(run), Contains("the disk is full"));
  }
  std::ofstream(run / "run.sqlite-wal") << "what a writer has left, of which nobody knows";
  const Disk disk(fail(Disk::Call::kShare, SQLITE_CANTOPEN));
  CHECK_THROWS_WITH(RunReader(run), Contains("may not be opened"));
}

TEST_CASE("a run whose writer died can go on where memory cannot be shared, with all of its log") {
  const TemporaryFolder scratch;
  const auto run = scratch / "moved";
  {
    auto writer = RunWriter::create(scratch / "run", {{"label", "x"}});
    for (int step = 0; step < 5; ++step) writer.write(snapshot(step));
    fs::create_directories(run);
    for (const auto* name : {"run.sqlite", "run.sqlite-wal"})
      fs::copy_file(scratch / "run" / name, run / name);
  }
  const Disk disk(fail(Disk::Call::kShare, SQLITE_IOERR_SHMMAP));
  auto writer = RunWriter::resume(run, 3);
  writer.write(snapshot(4));
  const RunReader reader(run);
  CHECK(reader.fact("journal_mode") == "delete");
  CHECK(reader.fact("label") == "x");
  CHECK(reader.scalars({"kappa/sigma", "blocks.3"}).size() == 5);
  CHECK(check_store(run).damage.empty());
}

TEST_CASE("a run that disappears is copied beside earlier copies, or is said to be lost") {
  const TemporaryFolder scratch;
  fs::create_directories(scratch / "a/run-rescued");
  auto writer = RunWriter::create(scratch / "a/run", {{"label", "x"}});
  writer.write(snapshot(0));
  fs::remove_all(scratch / "a/run");
  CHECK_THROWS_WITH(writer.write(snapshot(1)), Contains("run-rescued-2"));
  CHECK(writer.rescued() == scratch / "a/run-rescued-2");
  CHECK(RunReader(scratch / "a/run-rescued-2").last_step() == 0);

  auto other = RunWriter::create(scratch / "b/run", {});
  fs::remove_all(scratch / "b");
  CHECK_THROWS_WITH(other.write(snapshot(0)), Contains("what it held is lost"));
  CHECK(other.rescued().empty());
}

TEST_CASE("a second writer is told who the first is, or that there is one") {
  const TemporaryFolder scratch;
  const auto writer = RunWriter::create(scratch.path(), {});
  CHECK_THROWS_WITH(RunWriter::append(scratch.path()), Contains("being written by process "));
  fs::resize_file(scratch / "writer.lock", 0);
  CHECK_THROWS_WITH(RunWriter::append(scratch.path()),
                    Contains("being written by another process"));
}

TEST_CASE("attributes that are no object of texts are damage, and are named") {
  for (const std::string text :
       {"[1]", "{\"route\": 1}", "no json", "{\"a\": \"b\", \"c\": null}"}) {
    CAPTURE(text);
    const TemporaryFolder scratch;
    write_some(scratch.path());
    make_version2(scratch.path());
    SQLite::Database sql((scratch / "run.sqlite").string(), SQLite::OPEN_READWRITE);
    SQLite::Statement put(sql, "UPDATE scalars SET attributes = ? WHERE layer = 'blocks.0'");
    put.bind(1, text);
    put.exec();
    const RunReader reader(scratch.path());
    CHECK_THROWS_WITH(reader.scalars({"kappa/sigma", "blocks.0"}), Contains("not " + text));
    CHECK(reader.scalars({"kappa/sigma", "blocks.1"}).size() == 5);
  }
}
