// SPDX-License-Identifier: Apache-2.0
#include "lab/nn/feed_forward.h"

#include "kappascope/core/error.h"

namespace kappascope::nn {

BiasPlacement parse_bias_placement(const std::string& name) {
  if (name == "none") return BiasPlacement::kNone;
  if (name == "post-gating") return BiasPlacement::kPostGating;
  if (name == "output") return BiasPlacement::kOutput;
  if (name == "both") return BiasPlacement::kBoth;
  if (name == "centred") return BiasPlacement::kCentred;
  throw UsageError("unknown bias '" + name + "': use none, post-gating, output, both or centred");
}

}  // namespace kappascope::nn
