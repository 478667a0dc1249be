// SPDX-License-Identifier: Apache-2.0
// "Post-Gating Bias", 3.1, 3.2 and the implication of Proposition 1: what conditioning means for a
// first-order method.
#include "theory/families/families.h"

namespace kappascope::theory {

std::vector<Claim> descent_claims() {
  return {};
}

}  // namespace kappascope::theory
