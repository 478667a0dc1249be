// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "lab/report/builders.h"
#include "lab/report/sample_study.h"
#include "support/catch.h"

namespace kappascope::reports {
namespace {

StudyView study_in(const std::filesystem::path& root,
                   const std::vector<std::string>& metrics = {"loss/test"}) {
  const auto sample = read_sample(root, "control", metrics);
  return view_of(sample.result, sample.runs);
}

}  // namespace

TEST_CASE("conditions come by their numbers, the control comes first", "[study]") {
  const TemporaryFolder folder;
  write_study(folder / "s", 1, 0.1, {"noise 0.1", "noise 0.03", "noise 0", "noise 10"});
  const StudyView study = study_in(folder / "s");
  CHECK(study.conditions ==
        std::vector<std::string>{"noise 0", "noise 0.03", "noise 0.1", "noise 10"});
  CHECK(study.arms == std::vector<std::string>{"control", "biased"});
  CHECK(condition_less("dropout 0, noise 1", "dropout 0.1, noise 0"));
  CHECK(condition_less("dropout 0, noise 1e-3", "dropout 0, noise 0.1"));
  CHECK(!condition_less("dropout 0, noise 1", "dropout 0, noise 1"));
  CHECK(condition_less("norm post", "norm pre"));
}

TEST_CASE("the effects are what compare_runs finds, filled where it tells apart", "[study]") {
  const TemporaryFolder folder;
  write_study(folder / "s", 1, 0.01, {"noise 0"});
  write_study(folder / "s", 0.3, 0.3, {"noise 1"});  // p = 0.18
  const StudyView study = study_in(folder / "s", {"loss/test", "loss/test@median"});
  std::vector<Figure> figures = {effects(study)};
  finish_figures(figures);
  const Figure& figure = figures[0];
  REQUIRE(figure.panels.size() == 2);
  REQUIRE(figure.series.size() == 2);
  const auto expected = study::compare_runs(
      study::read_run_ends({folder / "s"}), "control", {"loss/test", "loss/test@median"});
  for (const auto& c : expected) {
    const Series& series = figure.series[c.metric == "loss/test" ? 0 : 1];
    const std::size_t at = c.condition == "noise 0" ? 0 : 1;
    INFO(c.metric << " " << c.condition);
    CHECK(series.arm == 1);
    CHECK(series.y[at] == c.difference.mean);
    CHECK(series.lower[at] == c.difference.lower);
    CHECK(series.upper[at] == c.difference.upper);
    CHECK(series.hollow[at] == (c.is_significant() ? 0 : 1));
    const Axis& y = figure.panels[series.panel].y;
    CHECK(y.min < std::min(0.0, c.difference.lower));
    CHECK(y.max > std::max(0.0, c.difference.upper));
  }
  CHECK(figure.series[0].hollow == std::vector<std::uint8_t>{0, 1});
  REQUIRE(figure.lines.size() == 2);
  CHECK(figure.lines[1].y == 0);
  CHECK(figure.x.title == "noise");
  CHECK(figure.x.ticks[1].label == "1");
  CHECK(figure.caption.find("Hollow: not significantly different from control (2)") !=
        std::string::npos);
}

TEST_CASE("an interval much wider than the difference is drawn whole", "[study]") {
  const TemporaryFolder folder;
  write_study(folder / "s", 0.01, 0.3);
  std::vector<Figure> figures = {effects(study_in(folder / "s"))};
  finish_figures(figures);
  const auto& [series, y] = std::pair(figures[0].series[0], figures[0].panels[0].y);
  CHECK(series.lower[0] < -0.4);
  CHECK(y.min < series.lower[0]);
  CHECK(y.max > series.upper[0]);
}

TEST_CASE("without a grid the arms stand side by side", "[study]") {
  const TemporaryFolder folder;
  write_study(folder / "s", 1, 0.1);
  for (int seed = 1; seed <= 4; ++seed)
    write_study_run(folder / "s", {.arm = "a third one", .seed = seed, .loss = seed + 0.5});
  const StudyView study = study_in(folder / "s");
  const Figure figure = effects(study);
  CHECK(figure.x.title == "arm");
  REQUIRE(figure.series.size() == 2);
  for (const Series& series : figure.series) {
    const auto& name = study.arms[series.arm];
    CHECK(figure.x.ticks[static_cast<std::size_t>(series.x[0])].label == name);
    CHECK(series.y[0] == study.compared("loss/test", "", name)->difference.mean);
  }
}

TEST_CASE("one seed has a difference without an interval", "[study]") {
  const TemporaryFolder folder;
  write_study(folder / "s", 1, 0, {""}, 1);
  const Figure figure = effects(study_in(folder / "s"));
  REQUIRE(figure.series.size() == 1);
  CHECK(figure.series[0].y[0] == Approx(1));
  CHECK(std::isnan(figure.series[0].lower[0]));
  CHECK(figure.series[0].hollow[0] == 1);
}

TEST_CASE("names of conditions that are not alike are wrapped", "[study]") {
  const TemporaryFolder folder;
  std::vector<std::string> conditions = {"noise 1", "a long condition, with words and words"};
  for (int i = 2; i < 8; ++i) conditions.push_back("noise " + std::to_string(i));
  write_study(folder / "s", 1, 0.1, conditions, 2);
  const Axis x = effects(study_in(folder / "s")).x;
  CHECK(x.title == "condition");
  const auto longest =
      std::ranges::max_element(x.ticks, {}, [](const Tick& tick) { return tick.label.size(); });
  CHECK(longest->label == "a long condition,\nwith words and\nwords");
}

}  // namespace kappascope::reports
