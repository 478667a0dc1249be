// SPDX-License-Identifier: Apache-2.0
// What the page makes of the alarms of a run: marks on the axis of steps, and a finding a kind.
#include "reports/figures/builders.h"
#include "reports/findings.h"
#include "reports/gnuplot/script.h"
#include "reports/html/figure_json.h"
#include "reports/sample_run.h"
#include "support/catch.h"

namespace kappascope::reports {
namespace {

using Catch::Contains;

/// Two runs, of which the second raised alarms.
std::vector<Arm> arms_with_alarms(const TemporaryFolder& folder) {
  auto arms = read_arms({write_sample_run(folder / "a", {.label = "a"}),
                         write_sample_run(folder / "b", {.label = "b", .bias = true})});
  const auto add = [&](std::int64_t step, const char* kind, const char* message) {
    arms[1].events.push_back({.step = step, .time = "", .event = {kind, message}});
  };
  add(40, "alarm/kappa", "blocks.0: kappa is 900, and was 100");
  add(40, "alarm/dead_units", "blocks.1: 3 features");
  add(70, "alarm/kappa", "blocks.0: kappa is 90, and was 900");
  add(80, "alarm/non_finite", "the loss is NaN");
  add(90, "alarm/of_tomorrow", "a newer program");
  add(95, "note", "no alarm");
  add(99, "nan_loss", "loss is inf");
  return arms;
}

}  // namespace

TEST_CASE("alarms and lost losses are marks on the axis of steps, those of one step together") {
  const TemporaryFolder folder;
  const auto arms = arms_with_alarms(folder);
  const auto marks = event_marks(arms);
  REQUIRE(marks.size() == 4);
  CHECK(marks[0].arm == 1);
  CHECK(marks[0].x == 40);
  CHECK(marks[0].label ==
        "alarm kappa: blocks.0: kappa is 900, and was 100; alarm dead_units: "
        "blocks.1: 3 features");
  CHECK_FALSE(marks[0].non_finite);
  CHECK(marks[2].x == 80);
  CHECK(marks[2].non_finite);
  CHECK(marks[3].label == "loss is inf");
  CHECK(marks[3].non_finite);
  const auto figures = build_figures(arms);
  CHECK_THAT(figures[0].caption,
             Contains("steps that raised an alarm (2: dead_units, kappa). Crosses: "));
  CHECK_THAT(figures_json(arms, figures),
             Contains("\"marks\":[{\"arm\":1,\"label\":\"alarm kappa: blocks.0"));
  CHECK_THAT(figures_json(arms, figures), Contains("\"x\":99,\"nonFinite\":true}"));
  const auto script = gnuplot_script(arms, figures[0], FigureFormat::kPng, "figure.png");
  CHECK_THAT(script, Contains("set arrow from first 40, graph 1.04 to first 40, graph 0.98"));
  CHECK_THAT(script, Contains("'×' at first 99, graph 1.06"));
  CHECK_THAT(script, Contains("unset arrow"));
}

TEST_CASE("each kind of alarm is a finding that says what it is worth") {
  const TemporaryFolder folder;
  std::vector<Finding> alarms;
  for (const auto& finding : find_findings(arms_with_alarms(folder)))
    if (finding.id == "alarm") alarms.push_back(finding);
  REQUIRE(alarms.size() == 3);
  CHECK(alarms[0].topic == "Alarms");
  CHECK_THAT(alarms[0].text,
             Contains("b: alarm kappa 2 times, first at step 40 (κ of a W_d block"));
  CHECK_THAT(alarms[0].certainty, Contains("The first: blocks.0: kappa is 900, and was 100. "));
  CHECK_FALSE(alarms[0].warning);
  CHECK(alarms[2].warning);  // a number that is none
  for (const auto& finding : alarms) {
    const bool early =
        finding.certainty.find("it came before spikes of the loss more often") != std::string::npos;
    const bool description =
        finding.certainty.find("A description, not a warning") != std::string::npos;
    CHECK(early != description);
  }
}

}  // namespace kappascope::reports
