// SPDX-License-Identifier: Apache-2.0
#include "lab/report/page.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "kappascope/core/error.h"
#include "lab/report/sample_study.h"
#include "reports/html/assets.h"
#include "support/catch.h"

namespace kappascope::reports {
namespace {

std::string page_of_study(const std::filesystem::path& root) {
  const auto sample = read_sample(root);
  return study_page(sample.result, sample.runs);
}

nlohmann::json data_of(const std::string& page) {
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const auto begin = page.find(open) + open.size();
  return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

std::vector<std::string> ids_of(const nlohmann::json& data) {
  std::vector<std::string> ids;
  for (const auto& figure : data["figures"]) ids.push_back(figure["id"]);
  return ids;
}

bool holds(const std::string& page, const std::string& text) {
  return page.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("a study without a grid is drawn in full", "[study]") {
  const TemporaryFolder folder;
  write_study(folder / "s", -0.5, 0.01);
  const std::string page = page_of_study(folder / "s");
  const auto data = data_of(page);
  CHECK(data["arms"] == nlohmann::json({"control", "biased"}));
  CHECK(ids_of(data) ==
        std::vector<std::string>{"effects", "overview", "kappa_layers", "kappa_costs"});
  for (const auto& series : data["figures"][1]["series"]) {
    if (series["quantity"] != "test" || series["arm"] != 0) continue;
    CHECK(series["y"].back() == 1.25);
    CHECK(series["lower"].back() == 1.1);
    CHECK(series["upper"].back() == 1.4);
  }
  for (const char* expected : {"biased against control",
                               "median of 4 seeds, band: lowest to highest that they allow",
                               "running median of 3 steps",
                               "data-finding=\"told_apart\"",
                               "<strong>−0.5</strong>",
                               "id=\"comparisons\"",
                               "Fashion-MNIST, 60000 images"}) {
    INFO(expected);
    CHECK(holds(page, expected));
  }
  CHECK(!holds(page, "id=\"ledger\""));
  CHECK(!holds(page, "95 % intervals as bands"));
  CHECK(page == page_of_study(folder / "s"));
}

TEST_CASE("up to three conditions are drawn in full, each figure once", "[study]") {
  const TemporaryFolder folder;
  write_study(folder / "s", -0.5, 0.01, {"noise 0", "noise 1", "noise 2"});
  const std::string page = page_of_study(folder / "s");
  const auto ids = ids_of(data_of(page));
  CHECK(std::set(ids.begin(), ids.end()).size() == ids.size());
  CHECK(ids.size() == 10);
  CHECK(ids[1] == "c1_overview");
  CHECK(ids[9] == "c3_kappa_costs");
  CHECK(holds(page, "noise 2: The training at a glance"));
}

TEST_CASE("of more conditions the loss is drawn, on one scale", "[study]") {
  const TemporaryFolder folder;
  write_study(folder / "s", -0.5, 0.01, {"noise 0", "noise 1", "noise 2"});
  write_study(folder / "s", 40, 0.01, {"noise 3"});
  const auto data = data_of(page_of_study(folder / "s"));
  CHECK(ids_of(data) == std::vector<std::string>{"effects", "loss_by_condition"});
  const auto& panels = data["figures"][1]["panels"];
  REQUIRE(panels.size() == 4);
  CHECK(panels[0]["title"] == "noise 0");
  for (const auto& panel : panels) {
    CHECK(panel["y"]["min"] == panels[0]["y"]["min"]);
    CHECK(panel["y"]["max"] > 100);
    CHECK(panel["y"]["log"] == true);
  }
  CHECK(data["figures"][1]["series"].size() == 16);
}

TEST_CASE("one seed has curves without a band, and the page says so", "[study]") {
  const TemporaryFolder folder;
  write_study(folder / "s", 1, 0, {""}, 1);
  const std::string page = page_of_study(folder / "s");
  CHECK(holds(page, "Every arm is shown as one seed, so no band."));
  const auto data = data_of(page);
  for (const auto& series : data["figures"][1]["series"]) CHECK(!series.contains("lower"));
}

TEST_CASE("accuracies under attack are drawn where they were recorded", "[study]") {
  const TemporaryFolder folder;
  for (int seed = 1; seed <= 3; ++seed) {
    for (const char* arm : {"control", "biased"}) {
      write_study_run(folder / "s",
                      {.arm = arm,
                       .seed = seed,
                       .more = {{"accuracy/test", 0.9}, {"accuracy/pgd", 0.1 * seed}}});
    }
  }
  const auto data = data_of(page_of_study(folder / "s"));
  const auto& figure = data["figures"][2];
  CHECK(figure["id"] == "accuracies");
  REQUIRE(figure["panels"].size() == 2);
  CHECK(figure["panels"][1]["title"] == "PGD");
  const auto& last = figure["series"].back();
  CHECK(last["panel"] == 1);
  CHECK(last["y"][0] == 0.2);
  CHECK(last["upper"][0] == Approx(0.3));
}

TEST_CASE("a study's verdicts stand in the ledger, names stay text", "[study]") {
  const TemporaryFolder folder;
  const std::string evil = "<img src=x onerror=alert(1)>";
  write_study(folder / "s", -0.5, 0.01, {"noise <i>1"});
  for (int seed = 1; seed <= 2; ++seed)
    write_study_run(
        folder / "s",
        {.arm = "a</script><img>b", .condition = "noise <i>1", .seed = seed, .loss = 0.1 * seed});
  study::StudyResult swept{.name = "sample"};
  swept.verdicts.push_back({.claim = "P-1", .statement = "<b>", .study = "sample"});
  swept.verdicts[0].verdict.outcome = study::Outcome::kRefuted;
  swept.verdicts[0].verdict.condition = evil;
  study::write_result(folder / "s", swept);
  std::string page = page_of_study(folder / "s");
  CHECK(holds(page, "id=\"ledger\""));
  CHECK(holds(page, "Refuted: P-1 – &lt;b&gt;"));
  CHECK(holds(page, "a&lt;/script&gt;&lt;img&gt;b"));
  CHECK(std::ranges::count(data_of(page)["arms"], "a</script><img>b") == 1);
  CHECK(!holds(page, "<img"));
  CHECK(!holds(page, "<i>"));
}

TEST_CASE("verdicts of several studies name theirs, those of one do not", "[study]") {
  const TemporaryFolder folder;
  write_study(folder / "s", -0.5, 0.01);
  auto sample = read_sample(folder / "s");
  study::ClaimVerdict verdict{.claim = "P-1", .statement = "it falls", .study = "first"};
  verdict.verdict.left = "loss of A";
  verdict.verdict.measured = -0.25;
  verdict.verdict.lower = -0.5;
  verdict.verdict.upper = -0.125;
  verdict.verdict.route = "study";
  verdict.verdict.cases = 5;
  sample.result.verdicts = {verdict, verdict};
  const auto once = study_page(sample.result, sample.runs);
  CHECK(holds(once, "loss of A = −0.25 (95 %: −0.5–−0.125)"));
  CHECK(holds(once, "study, 5 cases<"));
  CHECK(!holds(once, "<td>first</td>"));
  sample.result.verdicts[1].study = "second";
  const auto both = study_page(sample.result, sample.runs);
  CHECK(holds(both, "<td>first, second</td>"));
}

TEST_CASE("the table counts what a comparison is made without", "[study]") {
  const TemporaryFolder folder;
  write_study(folder / "s", -0.5, 0.01);
  write_study_run(folder / "s", {.arm = "biased", .seed = 5, .failed = true});
  write_study_run(folder / "s", {.seed = 5});
  write_study_run(folder / "s", {.seed = 6});
  const std::string page = page_of_study(folder / "s");
  CHECK(holds(page, "<td class=\"number\">4 (1 left out and 1 unpaired)</td>"));
  CHECK(holds(page, "<th scope=\"row\">biased</th><td>5</td><td>1</td><td>1, 2, 3, 4, 5</td>"));
  CHECK(holds(page, "<th scope=\"row\">control (control)</th><td>6</td><td>0</td>"));
  CHECK(holds(page, "<th scope=\"row\">model.bias</th><td>control</td><td>biased</td>"));
  CHECK(holds(page, "<th scope=\"row\">train.batch</th><td>128</td></tr>"));
}

TEST_CASE("what cannot be compared is refused", "[study]") {
  const TemporaryFolder folder;
  write_study_run(folder / "one", {});
  CHECK_THROWS_AS(page_of_study(folder / "one"), UsageError);
  CHECK_THROWS_AS(study_page({}, {}), UsageError);
}

TEST_CASE("120 runs under twelve conditions make a page under 5 MB", "[study]") {
  const TemporaryFolder folder;
  for (int c = 0; c < 12; ++c) {
    for (int seed = 1; seed <= 5; ++seed) {
      for (const char* arm : {"control", "biased"}) {
        write_study_run(folder / "s",
                        {.arm = arm,
                         .condition = "noise " + std::to_string(c),
                         .seed = seed,
                         .loss = 1 + 0.123456 * seed,
                         .steps = 300});
      }
    }
  }
  const std::string page = page_of_study(folder / "s");
  CHECK(page.size() < 5'000'000);
  const auto data = data_of(page);
  CHECK(data["figures"][1]["panels"].size() == 12);
  CHECK(data["figures"][1]["series"][0]["y"].size() == 300);
}

}  // namespace kappascope::reports
