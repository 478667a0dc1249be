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
  if (name == "centred-output") return BiasPlacement::kCentredOutput;
  throw UsageError("unknown bias '" + name +
                   "': use none, post-gating, output, both, centred or centred-output");
}

}  // namespace kappascope::nn
