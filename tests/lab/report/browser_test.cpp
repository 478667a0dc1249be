// SPDX-License-Identifier: Apache-2.0
#include "lab/report/page.h"
#include "lab/report/sample_study.h"
#include "reports/visit.h"

namespace kappascope::reports {

TEST_CASE("the page of a study draws every figure and does not complain", "[browser]") {
  if (!has_chromium()) return;
  const TemporaryFolder folder;
  write_study(folder / "s", -0.5, 0.01, {"width 8, noise 0", "width 8, noise 1"});
  write_study(folder / "s", 0, 0.1, {"width 16, noise 0", "width 16, noise 1"}, 1);
  const auto sample = read_sample(folder / "s");
  const Visit seen = visit(folder, study_page(sample.result, sample.runs), R"js(
    kappascope.drawAll();
    const plot = document.getElementById("plot-effects");
    const bars = [...plot.querySelectorAll("path.bar")].reduce((sum, one) => sum + one.getAttribute("d").split("V").length - 1, 0);
    const names = [...plot.querySelectorAll(".x-tick")].map((text) => text.textContent).join("|");
    document.body.dataset.effects = bars + " " + names;
  )js");
  CHECK(seen.dom.find("data-figures=\"2\"") != std::string::npos);
  CHECK(seen.dom.find("data-problems=\"\"") != std::string::npos);
  CHECK(seen.dom.find("data-requests=\"0\"") != std::string::npos);
  CHECK(seen.messages.find("CONSOLE") == std::string::npos);
  // Two conditions have one seed, so no interval, and no bar of length 0 that would look like one.
  CHECK(seen.dom.find("data-effects=\"2 8|0|8|1|16|0|16|1\"") != std::string::npos);
}

}  // namespace kappascope::reports
