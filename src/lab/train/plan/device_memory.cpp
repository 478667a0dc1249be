// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <utility>
#include <vector>

#include "kappascope/core/error.h"
#include "lab/train/plan/plan.h"

namespace kappascope::train {

double device_memory(const std::string& name) {
  // Data sheets: NVIDIA H200 and H100 SXM, A100 80GB SXM, L40S, GeForce RTX 4090, V100 SXM2.
  static const std::vector<std::pair<std::string, double>> known = {{"h200", 141e9},
                                                                    {"h100", 80e9},
                                                                    {"a100", 80e9},
                                                                    {"l40s", 48e9},
                                                                    {"rtx4090", 24e9},
                                                                    {"v100", 32e9}};
  std::vector<std::string> names;
  for (const auto& [device, bytes] : known) {
    if (device == name) return bytes;
    names.push_back(device);
  }
  throw UsageError(fmt::format(
      "the memory of '{}' is not known: --plan-device takes {}", name, fmt::join(names, ", ")));
}

}  // namespace kappascope::train
