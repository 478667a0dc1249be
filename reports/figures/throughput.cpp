// SPDX-License-Identifier: Apache-2.0
// The figure of how fast the training runs, and of what measuring takes of it.
#include <utility>

#include "reports/figures/builders.h"

namespace kappascope::reports {

Figure throughput(const std::vector<Arm>& arms) {
  Figure figure{.id = "throughput",
                .title = "How fast the training runs, and what measuring takes of it",
                .topic = Topic::kTraining};
  figure.x.title = "step";
  figure.caption =
      "Steps of the training per second, without the probes and on average since the point "
      "before, and the share of the training time that all probes took so far.";
  for (std::size_t a = 0; a < arms.size(); ++a) {
    auto speed = series_of(arms, a, id::kStepSeconds, "", "steps per second");
    if (!speed) continue;
    for (double& seconds : speed->y) seconds = 1 / seconds;
    add_series(figure, 0, std::move(speed));
    add_series(figure, 1, series_of(arms, a, id::kCostTotal, "", "probing"));
  }
  if (figure.series.empty()) {
    figure.missing = "No costs were recorded.";
    return figure;
  }
  figure.panels = {{.title = "steps per second", .y = {.title = "1/s"}},
                   {.title = "probing, as a share of the training time",
                    .y = {.title = "share"},
                    .height = 0.6}};
  return figure;
}

}  // namespace kappascope::reports
