// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reports/runs/arms.h"

namespace kappascope::reports {

/// Names of layers where there is little room: without what all of them begin and end with, but for
/// the word before the first difference: "layers.0" for "model.layers.0.mlp.down_proj".
class LayerNames {
 public:
  /// Of the layers whose κ the arms hold.
  explicit LayerNames(const std::vector<Arm>& arms);
  explicit LayerNames(const std::vector<std::string>& layers);
  /// Another layer's name as it is.
  [[nodiscard]] std::string operator()(const std::string& layer) const;

 private:
  std::string before_, after_;  // of each, with the dots that part them from the rest
};

}  // namespace kappascope::reports
