// SPDX-License-Identifier: Apache-2.0
// Experts that hardly see a token, or most of them; attention that looks at single ones.
#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string>

#include "reports/findings/rules.h"
#include "reports/findings/wording.h"
#include "reports/runs/experts.h"
#include "reports/runs/groups.h"

namespace kappascope::reports {

void find_expert_load(const std::vector<Arm>& arms, Findings& out) {
  constexpr double kMany = 4;      // times the even share
  constexpr double kFewRows = 20;  // an expert: of fewer, chance leaves one without
  for (const Arm* run : runs_of(arms)) {
    const auto banks = expert_banks(*run);
    const ExpertBank* worst = nullptr;
    std::size_t uneven = 0;
    for (const auto& bank : banks) {
      const auto& load = bank.loads.back();
      if (load.rows < kFewRows * static_cast<double>(bank.experts.size())) continue;
      if (load.busiest < kMany && load.unused == 0) continue;
      ++uneven;
      if (worst == nullptr || load.busiest > worst->loads.back().busiest) worst = &bank;
    }
    if (worst == nullptr) continue;
    const auto& load = worst->loads.back();
    const auto count = static_cast<double>(worst->experts.size());
    out.push_back(
        {"expert_load",
         fmt::format("{}: in {} of {} layers of experts the tokens are shared unevenly: {} takes "
                     "{} of the rows, {}× the even share, and {} of {} experts saw none.",
                     run->label,
                     uneven,
                     banks.size(),
                     load.busiest_expert,
                     percent(load.busiest / count),
                     words(load.busiest),
                     load.unused,
                     worst->experts.size()),
         fmt::format("Counted in the window of step {}: {} rows.", load.step, words(load.rows)),
         false});
  }
}

void find_attention(const std::vector<Arm>& arms, Findings& out) {
  constexpr double kLarge = 100;  // the threshold of QK-Clip (Kimi Team 2025)
  for (const Arm* run : runs_of(arms)) {
    std::optional<store::StepValue> worst;
    std::string where;
    for (const auto& layer : layers_of(*run, id::kLargestLogit)) {
      const auto found = run->last(id::kLargestLogit, layer);
      if (!found || !is_resolved(found->scalar) || found->scalar.value <= kLarge) continue;
      if (worst && worst->scalar.value >= found->scalar.value) continue;
      worst = found;
      where = layer;
    }
    if (!worst) continue;
    out.push_back({"attention_logits",
                   fmt::format("{}: the attention logits of {} reach {}, above the 100 at which "
                               "some trainings clip them: attention that looks at single tokens, "
                               "and a cause of spikes.",
                               run->label,
                               where,
                               words(worst->scalar.value)),
                   fmt::format("Of a sample of sequences and queries at step {}: a lower bound.",
                               worst->step),
                   false});
  }
}

}  // namespace kappascope::reports
