// SPDX-License-Identifier: Apache-2.0
#include "core/own_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "core/temporary_folder.h"
#include "kappascope/core/error.h"
#include "support/catch.h"

using namespace kappascope;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

constexpr const char* kKinds[] = {"link to a file", "link to nothing", "link to a folder", "pipe"};

/// Puts one of them under a name.
void put(const std::string& kind, const fs::path& path, const fs::path& elsewhere) {
  if (kind == "pipe") {
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  } else if (kind == "link to nothing") {
    fs::create_symlink(elsewhere / "missing", path);
  } else if (kind == "link to a file") {
    fs::create_symlink(elsewhere / "file", path);
  } else {
    fs::create_symlink(elsewhere, path);
  }
}

struct Places {
  TemporaryFolder folder;
  fs::path run = folder.path() / "run", elsewhere = folder.path() / "elsewhere";

  Places() {
    fs::create_directories(run);
    fs::create_directories(elsewhere);
    std::ofstream(elsewhere / "file") << "months of work";
  }
};

}  // namespace

TEST_CASE("what is not of the folder itself is neither read nor written nor waited for") {
  for (const std::string kind : kKinds) {
    CAPTURE(kind);
    const Places places;
    put(kind, places.run / "it", places.elsewhere);
    const auto named = Contains((places.run / "it").string());
    CHECK_THROWS_WITH(own_file(places.run, "it"), Contains("remove it") && named);
    CHECK_THROWS_WITH(own_folder(places.run, "it"), named);
    CHECK_THROWS_WITH(own_file(places.run, "it/file"), named);
    for (const int flags : {O_RDONLY, O_RDWR | O_CREAT, O_WRONLY | O_APPEND | O_CREAT})
      CHECK_THROWS_WITH(open_own_file(places.run, "it", flags), named);
    CHECK_FALSE(fs::exists(places.elsewhere / "missing"));
    CHECK(fs::file_size(places.elsewhere / "file") == 14);
  }
  const Places places;
  fs::create_directory(places.run / "folder");
  CHECK_THROWS_WITH(own_file(places.run, "folder"), Contains("it is a directory"));
  std::ofstream(places.run / "file") << "x";
  CHECK_THROWS_WITH(own_folder(places.run, "file"), Contains("it is a file"));
  CHECK_THROWS_WITH(own_file("/dev", "null"), Contains("neither a file nor a directory"));
}

TEST_CASE("a folder's own files are read, written and made") {
  const Places places;
  CHECK(own_file(places.run, "new") == places.run / "new");
  CHECK(own_folder(places.run, "new") == places.run / "new");
  const auto none = open_own_file(places.run, "new", O_RDONLY);
  CHECK(none.get() < 0);
  CHECK(errno == ENOENT);
  const auto made = open_own_file(places.run, "new", O_RDWR | O_CREAT);
  CHECK(::write(made.get(), "x", 1) == 1);
  CHECK(open_own_file(places.run, "new", O_RDONLY).get() >= 0);
  // The folder itself was named by the user, and may be a link.
  fs::create_symlink(places.run, places.folder.path() / "link");
  CHECK(open_own_file(places.folder.path() / "link", "new", O_RDONLY).get() >= 0);
}

TEST_CASE("a file with a second name is read, and not written") {
  const Places places;
  fs::create_hard_link(places.elsewhere / "file", places.run / "it");
  CHECK(open_own_file(places.run, "it", O_RDONLY).get() >= 0);
  CHECK_THROWS_WITH(open_own_file(places.run, "it", O_RDWR | O_CREAT), Contains("second name"));
  CHECK(own_file(places.run, "it") == places.run / "it");
  CHECK_THROWS_WITH(own_file_to_write(places.run, "it"), Contains("second name"));
  CHECK(own_file_to_write(places.run, "absent") == places.run / "absent");
}

TEST_CASE("a label's name keeps what no folder minds") {
  CHECK(folder_name("lr 1e+3_a.b/c:d") == "lr-1e+3_a.b-c-d");
}
