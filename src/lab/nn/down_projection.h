// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kappascope/nn/tapped_linear.h"
#include "lab/nn/feed_forward.h"

namespace kappascope::nn {

/// The last matrix of every feed-forward layer, with the biases asked for.
TappedLinear down_projection(int64_t hidden, int64_t width, BiasPlacement bias, double dropout);

/// What every feed-forward layer refuses.
void check_feed_forward(const char* what, int64_t width, int64_t hidden, double dropout);

}  // namespace kappascope::nn
