// SPDX-License-Identifier: Apache-2.0
// Lemma 1 and the minimum-MSE remark of "Post-Gating Bias": which map carries a constant offset.
#include "theory/families/families.h"

namespace kappascope::theory {

std::vector<Claim> offsets_claims() {
  return {};
}

}  // namespace kappascope::theory
