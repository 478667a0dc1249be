// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace kappascope::nn {

/// Where a feed-forward layer has an additive freedom: nowhere, b before the down-projection
/// (post-gating bias), c after it (the plain control), both, or a b that is not learnt but centres
/// the features, alone or with c. They start at zero and draw no random number, so that the arms of
/// a comparison share every other weight.
enum class BiasPlacement { kNone, kPostGating, kOutput, kBoth, kCentred, kCentredOutput };
BiasPlacement parse_bias_placement(const std::string& name);  ///< throws UsageError
/// Whether there is a b that is learnt.
inline bool learns_post_gating(BiasPlacement bias) {
  return bias == BiasPlacement::kPostGating || bias == BiasPlacement::kBoth;
}
/// Whether there is a b that centres.
inline bool centres(BiasPlacement bias) {
  return bias == BiasPlacement::kCentred || bias == BiasPlacement::kCentredOutput;
}
/// Whether there is a c.
inline bool has_output_bias(BiasPlacement bias) {
  return bias == BiasPlacement::kOutput || bias == BiasPlacement::kBoth ||
         bias == BiasPlacement::kCentredOutput;
}

/// What stands in the place of the feed-forward layer of a transformer block: a module whose
/// down-projection is a TappedLinear. Input and output [..., width].
class FeedForward {
 public:
  FeedForward() = default;
  FeedForward(const FeedForward&) = default;
  FeedForward& operator=(const FeedForward&) = default;
  virtual ~FeedForward() = default;
  virtual at::Tensor forward(const at::Tensor& x) = 0;
};

}  // namespace kappascope::nn
