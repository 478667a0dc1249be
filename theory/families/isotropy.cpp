// SPDX-License-Identifier: Apache-2.0
// "Isotropy GMLP": what the branch guarantees, and what its tables say.
#include "theory/families/families.h"

namespace kappascope::theory {

std::vector<Claim> isotropy_claims() {
  return {};
}

}  // namespace kappascope::theory
