// SPDX-License-Identifier: Apache-2.0
// The figure of how fast the training runs, what memory it takes, and what measuring takes of it.
#include <optional>
#include <utility>

#include "reports/figures/builders.h"

namespace kappascope::reports {
namespace {

std::optional<Series> in_gib(std::optional<Series> bytes) {
  if (bytes) {
    for (double& value : bytes->y) value /= 1 << 30;
  }
  return bytes;
}

}  // namespace

Figure throughput(const std::vector<Arm>& arms) {
  Figure figure{.id = "throughput",
                .title = "How fast the training runs, what memory it takes, and what probing costs",
                .topic = Topic::kTraining};
  figure.x.title = "step";
  figure.caption =
      "Steps of the training per second, without the probes and on average since the point "
      "before; the rows (tokens) of such a step, as the layer through which most passed had them; "
      "the most memory so far, of the process and (dashed) of tensors on its device; and the share "
      "of the training time that all probes took so far.";
  const auto of = [&](std::size_t arm, store::SeriesId name, const char* quantity) {
    return series_of(arms, arm, name, "", quantity);
  };
  // A panel where an arm has something to show in it.
  const auto add_panel = [&](Panel panel, auto add) {
    bool any = false;
    for (std::size_t arm = 0; arm < arms.size(); ++arm) any = add(arm, figure.panels.size()) || any;
    if (any) figure.panels.push_back(std::move(panel));
  };
  add_panel({.title = "steps per second", .y = {.title = "1/s"}}, [&](auto arm, auto panel) {
    auto speed = of(arm, id::kStepSeconds, "steps per second");
    if (!speed) return false;
    for (double& seconds : speed->y) seconds = 1 / seconds;
    return add_series(figure, panel, std::move(speed));
  });
  add_panel(
      {.title = "rows (tokens) per second", .y = {.title = "1/s"}}, [&](auto arm, auto panel) {
        return add_series(
            figure,
            panel,
            quotient_of(of(arm, id::kStepRows, "rows per second"), of(arm, id::kStepSeconds, "")));
      });
  add_panel({.title = "memory, the most so far", .y = {.title = "GiB"}}, [&](auto arm, auto panel) {
    const bool process = add_series(figure, panel, in_gib(of(arm, id::kMemoryProcess, "process")));
    const bool device =
        add_series(figure, panel, in_gib(of(arm, id::kMemoryDevice, "device")), Dash::kDash);
    return process || device;
  });
  add_panel(
      {.title = "probing, as a share of the training time", .y = {.title = "share"}, .height = 0.6},
      [&](auto arm, auto panel) {
        return arms[arm].has(id::kStepSeconds) &&
               add_series(figure, panel, of(arm, id::kCostTotal, "probing"));
      });
  if (figure.panels.empty()) figure.missing = "No costs were recorded.";
  return figure;
}

}  // namespace kappascope::reports
