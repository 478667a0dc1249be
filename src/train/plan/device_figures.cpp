// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kappascope/core/error.h"
#include "kappascope/train/plan.h"

namespace kappascope::train {

const DeviceFigures& figures_of(const std::string& name) {
  // Data sheets: NVIDIA H200 and H100 SXM, A100 80GB SXM, L40S, GeForce RTX 4090, V100 SXM2.
  static const std::vector<DeviceFigures> known = {{"h200", 67e12, 989e12, 141e9},
                                                   {"h100", 67e12, 989e12, 80e9},
                                                   {"a100", 19.5e12, 312e12, 80e9},
                                                   {"l40s", 91.6e12, 362e12, 48e9},
                                                   {"rtx4090", 82.6e12, 165e12, 24e9},
                                                   {"v100", 15.7e12, 125e12, 32e9}};
  const auto found =
      std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.name == name; });
  if (found != known.end()) return *found;
  std::vector<std::string> names;
  names.reserve(known.size());
  for (const auto& one : known) names.push_back(one.name);
  throw UsageError(fmt::format(
      "the figures of '{}' are not known: --plan-device takes {}", name, fmt::join(names, ", ")));
}

}  // namespace kappascope::train
