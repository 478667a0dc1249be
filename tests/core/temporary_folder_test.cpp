// SPDX-License-Identifier: Apache-2.0
#include "core/temporary_folder.h"

#include <cstdlib>
#include <fstream>
#include <string>

#include "support/catch.h"

using kappascope::TemporaryFolder;

TEST_CASE("a temporary folder is new, and gone with what is in it when the object is") {
  std::filesystem::path first, second;
  {
    const TemporaryFolder one, another;
    first = one.path(), second = another.path();
    CHECK(first != second);
    CHECK(std::filesystem::is_empty(first));
    std::ofstream(one / "file") << "text";
    CHECK(std::filesystem::exists(first / "file"));
  }
  CHECK_FALSE(std::filesystem::exists(first));
  CHECK_FALSE(std::filesystem::exists(second));
}

TEST_CASE("a place where nothing can be made is named") {
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  setenv("TMPDIR", "/proc/self", 1);
  CHECK_THROWS_WITH(TemporaryFolder(), Catch::Contains("/proc/self"));
  before == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", kept.c_str(), 1);
}
