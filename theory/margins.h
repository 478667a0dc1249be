// SPDX-License-Identifier: Apache-2.0
// The smallest differences of interest in the studies, one a kind of quantity. They are ours: no
// document names any.
#pragma once

#include "theory/checks/studies/contrasts.h"

namespace kappascope::theory::margin {

/// Of a loss. In language models of about 2.2 nats it is 0.022, or 2 % of perplexity.
inline constexpr Margin kLoss{.share = 0.01};
/// Of an accuracy: what "Post-gating bias", section 4, calls a gain (14 % to 16 %).
inline constexpr Margin kAccuracy{.absolute = 0.02};
/// Of the length of spikes of the loss, and of the step at which the first begins.
inline constexpr Margin kSpikes{.share = 0.1};
/// Of a mean cosine, which may be near zero.
inline constexpr Margin kCosine{.absolute = 0.05};
/// Of an eigenvalue, a condition number, a variance, an isotropy.
inline constexpr Margin kStatistic{.share = 0.05};

}  // namespace kappascope::theory::margin
