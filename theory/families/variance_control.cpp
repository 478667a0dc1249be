// SPDX-License-Identifier: Apache-2.0
// "Post-Gating Bias", variance control and the interpretation of Lemma 2: what a bias does to the
// regressor and to the gradient's variance.
#include "theory/families/families.h"

namespace kappascope::theory {

std::vector<Claim> variance_control_claims() {
  return {};
}

}  // namespace kappascope::theory
