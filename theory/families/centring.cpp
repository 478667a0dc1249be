// SPDX-License-Identifier: Apache-2.0
// "Post-Gating Bias", centring remark and A.4: what centring the input does to second moments.
#include "theory/families/families.h"

namespace kappascope::theory {

std::vector<Claim> centring_claims() {
  return {};
}

}  // namespace kappascope::theory
