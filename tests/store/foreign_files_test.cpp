// SPDX-License-Identifier: Apache-2.0
// A run's folder from a stranger, in which one of its files leads elsewhere.
#include <sys/stat.h>

#include <functional>
#include <string>
#include <vector>

#include "kappascope/core/error.h"
#include "kappascope/store/run_writer.h"
#include "store/check.h"
#include "store/fixture.h"
#include "support/catch.h"
#include "support/files.h"

using namespace kappascope;
using namespace kappascope::store;
using namespace kappascope::store::test;
using Catch::Matchers::Contains;
using kappascope::testing::slurp;
using kappascope::testing::write_bytes;
namespace fs = std::filesystem;

namespace {

constexpr const char* kWork = "months of work";

/// A finished run, and a file elsewhere.
struct Places {
  TemporaryFolder folder;
  fs::path run = folder.path() / "run", elsewhere = folder.path() / "elsewhere";

  Places() {
    auto writer = RunWriter::create(run, {});
    writer.write(snapshot(0));
    writer.set_state("finished");
    write_bytes(elsewhere, kWork);
  }
  [[nodiscard]] std::string kept() const { return slurp(elsewhere); }
};

std::string number(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8)
    bytes += static_cast<char>(static_cast<unsigned char>(value >> static_cast<unsigned>(shift)));
  return bytes;
}

/// A rollback journal that changes nothing and names a super-journal, as SQLite's file format has
/// it.
std::string journal_naming(const std::string& name, const fs::path& database) {
  const std::string mark = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
  SQLite::Database sql(database.string());
  const auto pragma = [&](const std::string& which) {
    return static_cast<std::uint32_t>(sql.execAndGet("PRAGMA " + which).getUInt());
  };
  const auto page = pragma("page_size"), pages = pragma("page_count");
  auto journal = mark + number(0) + number(0) + number(pages) + number(512) + number(page);
  journal.resize(512);
  std::uint32_t sum = 0;
  for (const char c : name) sum += static_cast<std::uint32_t>(static_cast<signed char>(c));
  return journal + number(0x40000000 / page + 1) + name +
         number(static_cast<std::uint32_t>(name.size())) + number(sum) + mark;
}

}  // namespace

TEST_CASE("a journal that names another file deletes nothing, whoever opens the run") {
  const std::function<void(const fs::path&)> all[] = {
      [](const fs::path& run) { RunReader reader(run); },
      [](const fs::path& run) { RunWriter::resume(run, 0); },
      [](const fs::path& run) { check_store(run); }};
  for (const auto& open : all) {
    for (const bool in_place : {false, true}) {
      CAPTURE(in_place);
      const Places places;
      const auto before = fs::current_path();
      if (in_place) fs::current_path(places.folder.path());
      const auto name = in_place ? std::string("elsewhere") : places.elsewhere.string();
      const auto journal = journal_naming(name, places.run / "run.sqlite");
      write_bytes(places.run / "run.sqlite-journal", journal);
      CHECK_THROWS_WITH(open(places.run), Contains("run.sqlite-journal names a file outside"));
      fs::current_path(before);
      CHECK(places.kept() == kWork);
      // Without it the run is whole.
      fs::remove(places.run / "run.sqlite-journal");
      CHECK(RunReader(places.run).last_step() == 0);
    }
  }
}

TEST_CASE("what SQLite keeps beside the database is not written to under a second name") {
  for (const std::string suffix : {"-journal", "-wal", "-shm"}) {
    CAPTURE(suffix);
    const Places places;
    fs::create_hard_link(places.elsewhere, places.run / ("run.sqlite" + suffix));
    CHECK_THROWS_WITH(RunReader(places.run), Contains("second name"));
    CHECK_THROWS_WITH(check_store(places.run), Contains("second name"));
    CHECK(places.kept() == kWork);
  }
}

TEST_CASE("a lock that has a second name is not written to, and nobody waits for it") {
  const Places places;
  fs::remove(places.run / "writer.lock");
  fs::create_hard_link(places.elsewhere, places.run / "writer.lock");
  CHECK_THROWS_WITH(RunWriter::resume(places.run, 0), Contains("second name"));
  CHECK(RunReader(places.run).state() == "finished");
  CHECK(places.kept() == kWork);
}

TEST_CASE("a run that has a second name is read, but nothing is rolled back into it") {
  // Of another program, which would take it for its own page.
  const auto forged = [](const fs::path& database) {
    SQLite::Database sql(database.string());
    const auto page = static_cast<std::uint32_t>(sql.execAndGet("PRAGMA page_size").getUInt());
    const auto pages = static_cast<std::uint32_t>(sql.execAndGet("PRAGMA page_count").getUInt());
    auto journal = std::string("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7") + number(1) + number(0) +
                   number(pages) + number(512) + number(page);
    journal.resize(512);
    std::uint32_t sum = 0;
    for (auto at = static_cast<int>(page) - 200; at > 0; at -= 200) sum += 'x';
    return journal + number(pages) + std::string(page, 'x') + number(sum);
  };
  const std::function<void(const fs::path&)> all[] = {
      [](const fs::path& run) { RunReader reader(run); },
      [](const fs::path& run) { RunWriter::resume(run, 0); },
      [](const fs::path& run) { check_store(run); }};
  for (const auto& open : all) {
    const Places places;
    const auto journal = forged(places.run / "run.sqlite");
    const auto other = places.folder.path() / "other.sqlite";
    fs::create_hard_link(places.run / "run.sqlite", other);
    const auto before = slurp(other);
    write_bytes(places.run / "run.sqlite-journal", journal);
    CHECK_THROWS_WITH(open(places.run), Contains("run.sqlite has a second name"));
    CHECK((slurp(other) == before));
    fs::remove(places.run / "run.sqlite-journal");
    CHECK(RunReader(places.run).last_step() == 0);
    CHECK_THROWS_WITH(RunWriter::resume(places.run, 0), Contains("second name"));
  }
}

TEST_CASE("links and pipes among a run's files are not followed and not waited for") {
  for (const std::string name :
       {"run.sqlite", "run.sqlite-journal", "run.sqlite-wal", "run.sqlite-shm", "writer.lock"}) {
    for (const std::string kind : {"link", "link to nothing", "pipe"}) {
      CAPTURE(name, kind);
      const Places places;
      const auto file = places.run / name;
      if (name == "run.sqlite") fs::rename(file, places.folder.path() / "moved.sqlite");
      fs::remove(file);
      if (kind == "pipe") {
        REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
      } else if (kind == "link") {
        fs::create_symlink(
            name == "run.sqlite" ? places.folder.path() / "moved.sqlite" : places.elsewhere, file);
      } else {
        fs::create_symlink(places.folder.path() / "made", file);
      }
      CHECK_THROWS_WITH(RunWriter::resume(places.run, 0), Contains(name));
      if (name == "writer.lock") {
        CHECK(RunReader(places.run).state() == "finished");
      } else {
        CHECK_THROWS_WITH(RunReader(places.run), Contains(name));
      }
      CHECK(places.kept() == kWork);
      CHECK_FALSE(fs::exists(places.folder.path() / "made"));
    }
  }
}

TEST_CASE("a new run is not made through links either") {
  for (const std::string name : {"run.sqlite", "run.sqlite.new", "writer.lock"}) {
    for (const bool there : {false, true}) {
      CAPTURE(name, there);
      const TemporaryFolder folder;
      const auto elsewhere = folder.path() / "elsewhere", run = folder.path() / "run";
      if (there) write_bytes(elsewhere, kWork);
      fs::create_directory(run);
      fs::create_symlink(elsewhere, run / name);
      try {
        RunWriter::create(run, {}).set_state("finished");
      } catch (const Error&) {  // or it replaces the link
      }
      CHECK(fs::exists(elsewhere) == there);
      if (there) CHECK(fs::file_size(elsewhere) == std::string(kWork).size());
    }
  }
}
