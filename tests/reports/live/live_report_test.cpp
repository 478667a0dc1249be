// SPDX-License-Identifier: Apache-2.0
#include "reports/live/live_report.h"

#include <nlohmann/json.hpp>

#include "reports/sample_run.h"
#include "support/catch.h"

namespace kappascope::reports {
namespace {

using Catch::Contains;

std::string without_scripts(std::string page) {
  return page.substr(0, page.find("<script"));
}

}  // namespace

TEST_CASE("a folder without a run says so, and fills when one is written", "[live_report]") {
  const TemporaryFolder folder;
  LiveReport report({folder.path()});
  CHECK_FALSE(report.refresh());
  CHECK(report.version() == 1);
  CHECK_THAT(without_scripts(report.page()), Contains("No run has been written yet"));
  write_sample_run(folder / "a");
  CHECK(report.refresh());
  CHECK(report.version() == 2);
  CHECK_THAT(
      without_scripts(report.page()),
      Contains("id=\"live\" data-version=\"2\"") && Contains("no bias") && Contains("finished"));
  const auto got = nlohmann::json::parse(report.changes_since(1));
  CHECK(got["version"] == 2);
  REQUIRE(got["changes"].size() == 1);
  CHECK(got["changes"][0]["title"] == "no bias");
}

TEST_CASE("a page that is up to date is sent nothing, one of another server everything",
          "[live_report]") {
  const TemporaryFolder folder;
  write_sample_run(folder / "a");
  LiveReport report({folder / "a"});
  report.refresh();
  CHECK(nlohmann::json::parse(report.changes_since(report.version()))["changes"].empty());
  const auto got = nlohmann::json::parse(report.changes_since(77));
  REQUIRE(got["changes"].size() == 1);
  CHECK(got["changes"][0]["figures"].size() == 20);
  CHECK(got["changes"][0]["figures"][0].contains("whole"));
}

TEST_CASE("a row costs a page that is open its points, not its figures", "[live_report]") {
  const TemporaryFolder folder;
  auto writer = store::RunWriter::create(folder / "a", {});
  store::Snapshot row{.scalars = {{.name = "loss/train", .value = 1}}};
  std::vector<store::Snapshot> many;
  for (; row.step < 20'000; ++row.step) many.push_back(row);
  writer.write(many);
  LiveReport report({folder / "a"});
  report.refresh();
  const auto before = report.version();
  writer.write(row);
  CHECK(report.refresh());
  CHECK(report.changes_since(0).size() > 100'000);
  CHECK(report.changes_since(before).size() < 10'000);
}

}  // namespace kappascope::reports
