// SPDX-License-Identifier: Apache-2.0
#include "lab/nn/down_projection.h"

#include <torch/types.h>

#include "core/require.h"

namespace kappascope::nn {

TappedLinear down_projection(int64_t hidden, int64_t width, BiasPlacement bias, double dropout) {
  TappedLinear layer(TappedLinearOptions(hidden, width)
                         .bias(false)
                         .post_gating_bias(learns_post_gating(bias) || centres(bias))
                         .centred(centres(bias))
                         .dropout(dropout));
  if (has_output_bias(bias)) layer->add_output_bias();
  return layer;
}

void check_feed_forward(const char* what, int64_t width, int64_t hidden, double dropout) {
  require(width > 0 && hidden > 0,
          "{} needs a width and a hidden width of at least 1, got {} and {}",
          what,
          width,
          hidden);
  require(dropout >= 0 && dropout < 1, "dropout must be in [0, 1), got {}", dropout);
}

}  // namespace kappascope::nn
