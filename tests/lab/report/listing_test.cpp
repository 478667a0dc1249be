// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/listing.h"

#include "kappascope/reports/report.h"
#include "kappascope/store/run.h"
#include "lab/study/result.h"
#include "reports/sample_run.h"
#include "support/catch.h"

namespace kappascope::reports {

namespace fs = std::filesystem;

TEST_CASE("the result of a study is no run, in any listing", "[listing]") {
  const TemporaryFolder folder;
  const auto a = write_sample_run(folder / "s/a"), b = write_sample_run(folder / "s/b");
  study::StudyResult result;
  result.name = "s";
  study::write_result(folder / "s", result);
  // A run may be called as a result is.
  const auto study = write_sample_run(folder / "t/study");
  CHECK(store::find_runs(folder / "s") == std::vector<fs::path>{a, b});
  CHECK(store::find_runs(folder.path()) == std::vector<fs::path>{a, b, study});
  CHECK(store::runs_at({folder / "s", a, study}) == std::vector<fs::path>{a, b, study});
  CHECK(html_report({folder / "s"}) == html_report({a, b}));
}

}  // namespace kappascope::reports
