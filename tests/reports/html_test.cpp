// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "reports/html/figure_json.h"
#include "reports/html/page.h"
#include "reports/html/parts/ledger.h"
#include "reports/html/parts/tables.h"
#include "reports/html/text.h"
#include "reports/sample_run.h"
#include "support/catch.h"

namespace kappascope::reports {

TEST_CASE("markup in text loses its meaning", "[html]") {
  CHECK(escape_html("<a href='x'>\"&\"</a>\x01") ==
        "&lt;a href=&#39;x&#39;&gt;&quot;&amp;&quot;&lt;/a&gt;");
  CHECK(escape_json_for_script(R"({"a":"</script><!--&"})") ==
        R"({"a":"\u003c/script\u003e\u003c!--\u0026"})");
}

TEST_CASE("a template is filled once", "[html]") {
  CHECK(fill_template("a {{x}} b {{y}}{{x}}", {{"x", "{{y}}"}, {"y", "1"}}) == "a {{y}} b 1{{y}}");
}

TEST_CASE("figures survive JSON with gaps, infinities and names that are not UTF-8", "[html]") {
  const double inf = std::numeric_limits<double>::infinity();
  Figure figure;
  figure.id = "f";
  figure.panels.resize(1);
  Series series;
  series.layer = "bad \xff name";
  series.x = {0, 1, 2, 3};
  series.y = {0.1F, std::nan(""), inf, -inf};
  series.hollow = {0, 1, 0, 0};
  figure.series = {series};
  const auto json = nlohmann::json::parse(figures_json({}, {figure, Figure{}}));
  REQUIRE(json["figures"].size() == 1);
  const auto& one = json["figures"][0]["series"][0];
  CHECK(static_cast<float>(one["y"][0].get<double>()) == 0.1F);
  CHECK(one["y"][1].is_null());
  CHECK(one["y"][2] == "inf");
  CHECK(one["y"][3] == "-inf");
  CHECK(one["hollow"] == nlohmann::json({0, 1, 0, 0}));
  CHECK(one["layer"] == "bad \xEF\xBF\xBD name");
}

TEST_CASE("parts fold into their topics, and a figure that stands out stands there alone",
          "[html]") {
  const auto figure = [](const char* id, Topic topic) {
    return Figure{.id = id, .title = id, .topic = topic, .panels = {Panel{}}};
  };
  Page page{.summary = "<section id=\"summary\"></section>",
            .highlights = {{"<h3>one</h3>", "mean"}, {"<h3>two</h3>", "gone"}},
            .heading = "All findings",
            .figures = {figure("lead", Topic::kTraining),
                        figure("each_layer", Topic::kLayers),
                        figure("mean", Topic::kMean),
                        figure("rate", Topic::kRate),
                        figure("lemma", Topic::kDocuments)},
            .tables = {{"table", "A table", "", Topic::kLayers}},
            .topics = {{Topic::kTraining, "about-training", "What happened?", ""},
                       {Topic::kMean, "about-mean", "What does the mean cost?", ""},
                       {Topic::kLayers, "about-layers", "Which layers?", "<b>"}}};
  std::string places;
  for (const auto& part : parts_of(page).run) places += part.home + "/" + part.id + " ";
  // The rate's topic is not on this page, and the only figure of the mean's stands out.
  CHECK(places ==
        "/summary /lead /highlights /highlight-1 /mean /highlight-2 /rate /about-training "
        "about-training/findings /about-layers about-layers/table about-layers/each_layer ");
  const auto html = page_of(page, {});
  const auto at = [&](const char* what) { return html.find(what); };
  CHECK(at("id=\"about-layers\"") < at("id=\"each_layer\""));
  CHECK(at("id=\"each_layer\"") < html.find("</details>\n", at("id=\"each_layer\"")));
  CHECK_THAT(html, Catch::Contains("&lt;b&gt;</span></summary><section"));
  CHECK_THAT(html,
             Catch::Contains(
                 "<li><a href=\"#about-layers\">Which layers?</a><ul><li><a href=\"#table\">"));
  // Without topics all of it stands alone, in its order.
  page.topics.clear();
  page.highlights.clear();
  places.clear();
  for (const auto& part : parts_of(page).run) places += part.home + "/" + part.id + " ";
  CHECK(places == "/summary /lead /findings /table /each_layer /mean /rate ");
}

TEST_CASE("the ledger shows both sides, the condition and the witness", "[html]") {
  const TemporaryFolder folder;
  const std::string ledger = ledger_html(read_arms({write_sample_run(folder / "a")}));
  for (const char* expected : {"P-P1f",
                               "holds under a condition",
                               "the top eigenvector of Σ is not orthogonal to μ",
                               "κ falls from 4 to 1.23",
                               "search, 10000 cases",
                               "class=\"outcome refuted\"",
                               "Var(g) = 0.75 (95 %: 0.74–0.76)",
                               "formula = 1"}) {
    INFO(expected);
    CHECK(ledger.find(expected) != std::string::npos);
  }
}

TEST_CASE("what was decided alike on two arms is a row and a claim", "[html]") {
  const store::VerdictRow alike{"P-1", "holds", "", R"({"statement":"s","left":"a","measured":1})"},
      first{"P-2", "refuted", "", R"({"statement":"t","left":"a","measured":1})"},
      second{"P-2", "refuted", "", R"({"statement":"t","left":"a","measured":2})"};
  Arm one, two;
  one.label = "one", two.label = "two";
  one.verdicts = {alike, first};
  two.verdicts = {alike, second};
  const auto ledger = ledger_html({one, two});
  CHECK_THAT(ledger, Catch::Contains("holds 1, refuted 1."));
  CHECK_THAT(ledger, Catch::Contains("<td>one, two</td>") && Catch::Contains("<td>one</td>"));
}

TEST_CASE("a verdict that is not JSON is shown as far as it goes", "[html]") {
  Arm arm;
  arm.verdicts = {{"X-1", "undecided", "", "{not json"}};
  const std::string ledger = ledger_html({arm});
  CHECK(ledger.find("X-1") != std::string::npos);
  CHECK(ledger.find("undecided") != std::string::npos);
  constexpr std::size_t kDepth = 200'000;
  arm.verdicts = {{"X-1",
                   "undecided",
                   "",
                   R"({"left":)" + std::string(kDepth, '[') + std::string(kDepth, ']') + "}"}};
  CHECK(ledger_html({arm}).find("undecided") != std::string::npos);
  CHECK(ledger_html({Arm{}}).find("No claim was decided") != std::string::npos);
}

TEST_CASE("estimates and facts stand in their tables", "[html]") {
  const TemporaryFolder folder;
  const auto arms = read_arms({write_sample_run(folder / "a")});
  const std::string estimates = estimates_html(arms);
  CHECK(estimates.find("6×10⁴") != std::string::npos);
  CHECK(estimates.find("resolved") != std::string::npos);
  const std::string facts = facts_html(arms);
  CHECK(facts.find("Fashion-MNIST, 60000 images") != std::string::npos);
  CHECK(facts.find("ffn = swiglu") != std::string::npos);
  CHECK(facts.find("finished") != std::string::npos);
}

}  // namespace kappascope::reports
