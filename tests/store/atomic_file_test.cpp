// SPDX-License-Identifier: Apache-2.0
#include "kappascope/store/atomic_file.h"

#include <fstream>
#include <iterator>

#include "kappascope/core/error.h"
#include "store/child.h"
#include "store/fixture.h"
#include "support/catch.h"

using namespace kappascope;
using namespace kappascope::store;
using namespace kappascope::store::test;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

void put(const fs::path& file, const std::string& text) {
  std::ofstream(file) << text;
}

std::string get(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

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
    put(temporary, "first");
  });
  CHECK(get(file) == "first");
  write_atomically(file, [&](const fs::path& temporary) {
    put(temporary, "second");
    CHECK(get(file) == "first");
  });
  CHECK(get(file) == "second");
  CHECK(entries(scratch.path()) == 1);
}

TEST_CASE("a failure keeps the old file, removes the new one and is passed on") {
  const TemporaryFolder scratch;
  const fs::path file = scratch / "checkpoint.bin";
  put(file, "old");
  REQUIRE_THROWS_WITH(write_atomically(file,
                                       [](const fs::path& temporary) {
                                         put(temporary, "half");
                                         throw std::runtime_error("out of numbers");
                                       }),
                      "out of numbers");
  CHECK(get(file) == "old");
  CHECK(entries(scratch.path()) == 1);

  REQUIRE_THROWS_WITH(write_atomically(file, [](const fs::path&) {}),
                      Contains(file.string()) && Contains("No such file"));
  CHECK(get(file) == "old");
}

TEST_CASE("where no file can be, the error names the path and the cause") {
  const TemporaryFolder scratch;
  const auto write = [](const fs::path& temporary) { put(temporary, "text"); };
  REQUIRE_THROWS_WITH(write_atomically(scratch / "absent/file", write),
                      Contains((scratch / "absent").string()) && Contains("no directory"));
  fs::create_directory(scratch / "folder");
  put(scratch / "folder/inside", "text");
  REQUIRE_THROWS_WITH(write_atomically(scratch / "folder", write),
                      Contains((scratch / "folder").string()) && Contains("irectory"));
  CHECK(entries(scratch.path()) == 1);
}

TEST_CASE("a writer that is killed leaves the old file, and the next writer succeeds") {
  const TemporaryFolder scratch;
  const fs::path file = scratch / "checkpoint.bin";
  put(file, "old");
  Child killed([&] {
    write_atomically(file, [](const fs::path& temporary) {
      put(temporary, "half");
      ::kill(getpid(), SIGKILL);
    });
    return std::string("not killed");
  });
  CHECK(killed.report().empty());
  CHECK(get(file) == "old");
  write_atomically(file, [](const fs::path& temporary) { put(temporary, "new"); });
  CHECK(get(file) == "new");
  CHECK(entries(scratch.path()) == 1);
}
