// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>

#include "program.h"
#include "support/catch.h"

using kappascope::testing::slurp;
using kappascope::testing::Workplace;
namespace fs = std::filesystem;

TEST_CASE("every study can be read, its settings are meant, and the README has it") {
  const Workplace work;
  const fs::path experiments = KAPPASCOPE_EXPERIMENTS;
  const auto readme = slurp(experiments / "README.md");
  int studies = 0;
  for (const auto* scale : {"small", "paper"}) {
    for (const auto& entry : fs::directory_iterator(experiments / scale)) {
      const auto listed = work.run("sweep '" + entry.path().string() + "' --list");
      CAPTURE(entry.path(), listed.err);
      CHECK(listed.status == 0);
      CHECK(std::count(listed.out.begin(), listed.out.end(), '\n') >= 4);
      CHECK(readme.find("`" + entry.path().stem().string() + "`") != std::string::npos);
      CHECK(slurp(entry.path()).find("claims = ") != std::string::npos);
      ++studies;
    }
  }
  CHECK(studies >= 20);
}
