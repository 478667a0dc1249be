// SPDX-License-Identifier: Apache-2.0
#include "core/atomic_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <iterator>

#include "core/temporary_folder.h"
#include "kappascope/core/error.h"
#include "support/catch.h"
#include "support/child.h"
#include "support/files.h"

using namespace kappascope;
using Catch::Matchers::Contains;
using kappascope::testing::Child;
using kappascope::testing::slurp;
using kappascope::testing::write_bytes;
namespace fs = std::filesystem;

namespace {

std::size_t entries(const fs::path& dir) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(dir), {}));
}

}  // namespace

TEST_CASE("a file is written, and replaced, under its own name alone") {
  const TemporaryFolder scratch;
  const fs::path file = scratch / "checkpoint.bin";
  write_atomically(file, [&](const fs::path& temporary) {
    CHECK(temporary.parent_path() == file.parent_path());
    CHECK_FALSE(fs::exists(file));
    write_bytes(temporary, "first");
  });
  CHECK(slurp(file) == "first");
  write_atomically(file, [&](const fs::path& temporary) {
    write_bytes(temporary, "second");
    CHECK(slurp(file) == "first");
  });
  CHECK(slurp(file) == "second");
  CHECK(entries(scratch.path()) == 1);
}

TEST_CASE("a failure keeps the old file, removes the new one and is passed on") {
  const TemporaryFolder scratch;
  const fs::path file = scratch / "checkpoint.bin";
  write_bytes(file, "old");
  REQUIRE_THROWS_WITH(write_atomically(file,
                                       [](const fs::path& temporary) {
                                         write_bytes(temporary, "half");
                                         throw std::runtime_error("out of numbers");
                                       }),
                      "out of numbers");
  CHECK(slurp(file) == "old");
  CHECK(entries(scratch.path()) == 1);

  REQUIRE_THROWS_WITH(
      write_atomically(file, [](const fs::path& temporary) { fs::remove(temporary); }),
      Contains("checkpoint.bin") && Contains("No such file"));
  CHECK(slurp(file) == "old");
}

TEST_CASE("where no file can be, the error names the path and the cause") {
  const TemporaryFolder scratch;
  const auto write = [](const fs::path& temporary) { write_bytes(temporary, "text"); };
  REQUIRE_THROWS_WITH(write_atomically(scratch / "absent/file", write),
                      Contains((scratch / "absent").string()) && Contains("no directory"));
  fs::create_directory(scratch / "folder");
  write_bytes(scratch / "folder/inside", "text");
  REQUIRE_THROWS_WITH(write_atomically(scratch / "folder", write),
                      Contains((scratch / "folder").string()) && Contains("irectory"));
  CHECK(entries(scratch.path()) == 1);
}

TEST_CASE("a writer that is killed leaves the old file, and the next writer succeeds") {
  const TemporaryFolder scratch;
  const fs::path file = scratch / "checkpoint.bin";
  write_bytes(file, "old");
  Child killed([&] {
    write_atomically(file, [](const fs::path& temporary) {
      write_bytes(temporary, "half");
      ::kill(getpid(), SIGKILL);
    });
    return std::string("not killed");
  });
  CHECK(killed.report().empty());
  CHECK(slurp(file) == "old");
  CHECK(entries(scratch.path()) == 2);  // what it wrote is there still
  write_atomically(file, [](const fs::path& temporary) { write_bytes(temporary, "new"); });
  CHECK(slurp(file) == "new");
  CHECK(entries(scratch.path()) == 1);
}

TEST_CASE("of what looks like a leftover only files are cleared away, and through no link") {
  const TemporaryFolder scratch;
  write_bytes(scratch / ".file.notes", "mine");
  write_bytes(scratch / "target", "precious");
  fs::create_symlink("target", scratch / ".file.12345678.partial");
  write_text_atomically(scratch / "file", "text");
  CHECK(slurp(scratch / ".file.notes") == "mine");
  CHECK(slurp(scratch / "target") == "precious");
  CHECK(fs::is_symlink(scratch / ".file.12345678.partial"));
}

TEST_CASE("a name without a directory is a file of the present one") {
  const TemporaryFolder scratch;
  const auto report = Child([&] {
                        fs::current_path(scratch.path());
                        write_text_atomically("file", "text");
                        make_directories("deep/er");
                        return slurp(scratch / "file");
                      }).report();
  CHECK(report == "text");
  CHECK(fs::is_directory(scratch / "deep/er"));
}

TEST_CASE("a directory that may not be read is written into, a file that may not be is an error") {
  const TemporaryFolder scratch;
  fs::permissions(scratch.path(), static_cast<fs::perms>(0777));
  fs::create_directory(scratch / "drop");
  fs::permissions(scratch / "drop", static_cast<fs::perms>(0333));
  const auto report = Child([&] {
                        kappascope::testing::drop_root();
                        write_text_atomically(scratch / "drop/file", "text");
                        ::umask(0777);
                        write_text_atomically(scratch / "drop/other", "text");
                        return std::string("written");
                      }).report();
  CHECK_THAT(report, Contains("other") && Contains("Permission denied"));
  CHECK(slurp(scratch / "drop/file") == "text");
}

TEST_CASE("what another writer of the same file is writing is left alone") {
  const TemporaryFolder scratch;
  const fs::path file = scratch / "checkpoint.bin";
  write_atomically(file, [&](const fs::path& outer) {
    write_bytes(outer, "outer");
    write_atomically(file, [&](const fs::path& inner) {
      CHECK(inner != outer);
      CHECK(slurp(outer) == "outer");
      write_bytes(inner, "inner");
    });
    CHECK(slurp(file) == "inner");
  });
  CHECK(slurp(file) == "outer");
  CHECK(entries(scratch.path()) == 1);
}

TEST_CASE("no link, device or pipe is written through or replaced") {
  const TemporaryFolder scratch;
  write_bytes(scratch / "target", "precious");
  fs::create_symlink("target", scratch / "link");
  REQUIRE_THROWS_WITH(write_text_atomically(scratch / "link", "text"),
                      Contains((scratch / "link").string()) && Contains("is a link"));
  CHECK(slurp(scratch / "target") == "precious");
  CHECK(fs::is_symlink(scratch / "link"));
  REQUIRE(::mkfifo((scratch / "pipe").c_str(), 0600) == 0);
  REQUIRE_THROWS_WITH(write_text_atomically(scratch / "pipe", "text"), Contains("no regular file"));
  CHECK(fs::is_fifo(scratch / "pipe"));
  REQUIRE_THROWS_WITH(write_text_atomically("/dev/null", "text"), Contains("no regular file"));
  // What a prepared directory could hold: links by the names that were fixed once.
  for (const auto* name : {"file.partial", "file.tmp"}) {
    fs::create_symlink("target", scratch / name);
  }
  write_text_atomically(scratch / "file", "text");
  CHECK(slurp(scratch / "target") == "precious");
}

TEST_CASE("only what a command wrote itself is replaced without force") {
  const TemporaryFolder scratch;
  const auto mark = "written by a test";
  REQUIRE_NOTHROW(require_replaceable(scratch / "new", mark, false));
  write_bytes(scratch / "own", std::string("# ") + mark + "\n1,2\n");
  REQUIRE_NOTHROW(require_replaceable(scratch / "own", mark, false));
  for (const auto& text : {std::string(), std::string("thesis"), std::string(4096, 'x') + mark}) {
    write_bytes(scratch / "other", text);
    REQUIRE_THROWS_WITH(require_replaceable(scratch / "other", mark, false),
                        Contains((scratch / "other").string()) && Contains("--force"));
    REQUIRE_NOTHROW(require_replaceable(scratch / "other", mark, true));
  }
  write_bytes(scratch / "run.sqlite", std::string("SQLite format 3\0 ", 17) + mark);
  REQUIRE_THROWS_WITH(require_replaceable(scratch / "run.sqlite", mark, true),
                      Contains("is a database"));
  fs::create_symlink("own", scratch / "link");
  REQUIRE_THROWS_WITH(require_replaceable(scratch / "link", mark, true), Contains("is a link"));
}

TEST_CASE("a new file has the rights that any new file has") {
  const TemporaryFolder scratch;
  const auto before = ::umask(027);
  write_text_atomically(scratch / "file", "text");
  ::umask(before);
  CHECK(fs::status(scratch / "file").permissions() == static_cast<fs::perms>(0640));
}

TEST_CASE("a directory that is a link is written into, as any other") {
  const TemporaryFolder scratch;
  fs::create_directory(scratch / "there");
  fs::create_directory_symlink("there", scratch / "link");
  write_text_atomically(scratch / "link/file", "text");
  CHECK(slurp(scratch / "there/file") == "text");
  make_directories(scratch / "link/deep/er");
  CHECK(fs::is_directory(scratch / "there/deep/er"));
}

TEST_CASE("directories are made with those above, once, and a file in the way is named") {
  const TemporaryFolder scratch;
  for (int i = 0; i < 2; ++i) make_directories(scratch / "a/b/c/");
  CHECK(fs::is_directory(scratch / "a/b/c"));
  write_bytes(scratch / "file", "text");
  REQUIRE_THROWS_WITH(make_directories(scratch / "file/below"),
                      Contains((scratch / "file").string()));
}

TEST_CASE("a directory takes the place of another, whole, and nothing else stays") {
  const TemporaryFolder scratch;
  for (const std::string text : {"first", "second"}) {
    fs::create_directory(scratch / "made");
    write_bytes(scratch / "made/file", text);
    replace_directory(scratch / "made", scratch / "dir");
    CHECK(slurp(scratch / "dir/file") == text);
    CHECK(entries(scratch.path()) == 1);
  }
}

TEST_CASE("what cannot be read is not replaced, not even by force") {
  // Its first page cannot be read by anybody.
  REQUIRE_THROWS_WITH(require_replaceable("/proc/self/mem", "mark", true),
                      Contains("cannot read /proc/self/mem: Input/output error"));
}
