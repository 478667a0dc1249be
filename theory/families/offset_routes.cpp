// SPDX-License-Identifier: Apache-2.0
// "Post-Gating Bias", sections 1, 3 and 4: which parts of a network carry a constant offset, and
// what a post-gating bias adds to the functions a layer can make.
#include "theory/families/families.h"

namespace kappascope::theory {

std::vector<Claim> offset_routes_claims() {
  return {};
}

}  // namespace kappascope::theory
