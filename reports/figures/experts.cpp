// SPDX-License-Identifier: Apache-2.0
// How the tokens are shared among the experts of a layer.
#include "reports/runs/experts.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "reports/figures/builders.h"

namespace kappascope::reports {
namespace {

Series line_of(const ExpertBank& bank,
               std::size_t arm,
               const std::string& quantity,
               double ExpertLoad::*value) {
  Series series{.arm = arm, .layer = bank.name, .quantity = quantity};
  for (const auto& load : bank.loads) {
    series.x.push_back(static_cast<double>(load.step));
    series.y.push_back(load.*value);
    series.hollow.push_back(0);
  }
  return series;
}

}  // namespace

Figure expert_load(const std::vector<Arm>& arms) {
  Figure figure{.id = "expert_load",
                .title = "How the tokens are shared among the experts",
                .topic = Topic::kLayers};
  figure.x.title = "step";
  std::vector<std::vector<ExpertBank>> all(arms.size());
  std::ranges::transform(arms, all.begin(), expert_banks);
  std::vector<std::string> names;
  for (const auto& banks : all) {
    for (const auto& bank : banks)
      if (std::ranges::find(names, bank.name) == names.end()) names.push_back(bank.name);
  }
  std::ranges::sort(names, natural_less);
  add_layer_panels(figure, names, {.title = "rows over the even share"});
  for (std::size_t panel = 0; panel < figure.panels.size(); ++panel) {
    for (std::size_t a = 0; a < arms.size(); ++a) {
      const auto bank = std::ranges::find(all[a], names[panel], &ExpertBank::name);
      if (bank == all[a].end()) continue;
      add_series(figure, panel, line_of(*bank, a, "busiest", &ExpertLoad::busiest));
      add_series(figure, panel, line_of(*bank, a, "idlest", &ExpertLoad::idlest), Dash::kDash);
      add_series(figure, panel, line_of(*bank, a, "in use", &ExpertLoad::in_use), Dash::kDot, true);
    }
    figure.lines.push_back({panel, 1, "even"});
  }
  figure.caption =
      "Rows that the busiest expert of a layer saw in a window, and dashed the idlest, over what "
      "each would see if all were used alike; 0 is an expert without a token. Dotted: how many are "
      "in use, exp of the entropy of their shares, over all. Counted, not estimated. Experts that "
      "never saw a token are not known.";
  return figure;
}

}  // namespace kappascope::reports
