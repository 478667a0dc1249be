// SPDX-License-Identifier: Apache-2.0
#include "reports/findings.h"

#include <array>
#include <cstddef>

#include "reports/findings/rules.h"

namespace kappascope::reports {

std::vector<Finding> find_findings(const std::vector<Arm>& arms) {
  struct Part {
    const char* topic;
    void (*find)(const std::vector<Arm>&, Findings&);
  };
  static constexpr std::array<Part, 12> kParts = {{{"Trouble", find_trouble},
                                                   {"Loss", find_loss},
                                                   {"Conditioning", find_arm_kappas},
                                                   {"Conditioning", find_kappa_ratio},
                                                   {"Bias", find_absorption},
                                                   {"Bias", find_bias_choice},
                                                   {"Curvature", find_curvature},
                                                   {"Curvature", find_spectra},
                                                   {"Lemma 2", find_gradient_variance},
                                                   {"Reliability", find_unresolved},
                                                   {"Reliability", find_broken_features},
                                                   {"Cost", find_cost}}};
  Findings found;
  for (const Part& part : kParts) {
    const std::size_t before = found.size();
    part.find(arms, found);
    for (std::size_t i = before; i < found.size(); ++i) found[i].topic = part.topic;
  }
  return found;
}

}  // namespace kappascope::reports
