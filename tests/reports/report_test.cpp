// SPDX-License-Identifier: Apache-2.0
#include "kappascope/reports/report.h"

#include <nlohmann/json.hpp>
#include <regex>

#include "kappascope/core/error.h"
#include "reports/sample_run.h"
#include "support/catch.h"

namespace kappascope::reports {
namespace {

nlohmann::json data_of(const std::string& page) {
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const auto begin = page.find(open) + open.size();
  return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

}  // namespace

TEST_CASE("the page holds every figure, its data and the findings", "[report]") {
  const TemporaryFolder folder;
  const std::string page =
      html_report({write_sample_run(folder / "a"),
                   write_sample_run(folder / "b", {.label = "post-gating bias", .bias = true})});
  const auto data = data_of(page);
  CHECK(data["arms"] == nlohmann::json({"no bias", "post-gating bias"}));
  CHECK(data["figures"].size() == 21);
  for (const auto& figure : data["figures"]) {
    const auto id = figure["id"].get<std::string>();
    INFO(id);
    CHECK(page.find("id=\"plot-" + id + "\"") != std::string::npos);
    CHECK(page.find("data-csv=\"" + id + "\"") != std::string::npos);
  }
  CHECK(data["figures"][0]["series"][0]["y"].size() == 2001);
  CHECK(page.find("data-finding=\"kappa_ratio\"") != std::string::npos);
  CHECK(page.find("{{") == std::string::npos);
  // Fonts, scripts and styles of its own; the rest is the runs' numbers.
  CHECK(page.size() - data.dump().size() < 300'000);
}

TEST_CASE("nothing in our markup points out of the page", "[report]") {
  const TemporaryFolder folder;
  const std::string page = html_report({write_sample_run(folder / "a")});
  const std::regex external(R"re((src|href|action)\s*=\s*["']?\s*(https?:|//))re");
  CHECK(!std::regex_search(page, external));
  CHECK(page.find("@import") == std::string::npos);
  CHECK(page.find("url(") == std::string::npos);
  CHECK(page.find("default-src 'none'") != std::string::npos);
}

TEST_CASE("the same stores give the same bytes", "[report]") {
  const TemporaryFolder folder;
  const auto run = write_sample_run(folder / "a");
  CHECK(html_report({run}) == html_report({run}));
}

TEST_CASE("hostile names stay text", "[report]") {
  const TemporaryFolder folder;
  const std::string evil = "</script><script>alert(1)</script><img src=x onerror=\"alert('2')\">";
  const std::string page = html_report(
      {write_sample_run(folder / "a", {.label = evil, .bias = true, .layer_suffix = evil})});
  CHECK(page.find("<script>alert") == std::string::npos);
  CHECK(page.find("<img") == std::string::npos);
  const auto data = data_of(page);
  CHECK(data["arms"][0] == evil);
  CHECK(data["figures"][2]["panels"][0]["layer"] == "blocks.0.down_proj" + evil);
}

TEST_CASE("a run of 100,000 rows keeps them all in a page under 5 MB", "[report]") {
  const TemporaryFolder folder;
  constexpr std::int64_t kSteps = 50'000;
  {
    auto run = store::RunWriter::create(folder / "a", {{"label", "long"}});
    std::vector<store::Snapshot> snapshots;
    for (std::int64_t step = 0; step < kSteps; ++step) {
      const auto of = static_cast<float>(step + 3);
      snapshots.push_back({.step = step,
                           .scalars = {sample::plain("loss/train", "", 1.0F / of),
                                       sample::plain("loss/test", "", 1.1F / of)}});
    }
    run.write(snapshots);
  }
  const std::string page = html_report({folder / "a"});
  CHECK(page.size() < 5'000'000);
  const auto data = data_of(page);
  CHECK(data["figures"][0]["series"][0]["y"].size() == kSteps);
  CHECK(data["figures"][0]["series"][1]["y"].size() == kSteps);
}

TEST_CASE("a run that cannot be read is named", "[report]") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(html_report({folder / "missing"}), Catch::Contains("missing"));
  CHECK_THROWS_AS(html_report({}), Error);
}

}  // namespace kappascope::reports
