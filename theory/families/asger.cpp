// SPDX-License-Identifier: Apache-2.0
// "ASGER": gate range, parameter counts, tokens and variance at initialisation.
#include "theory/families/families.h"

namespace kappascope::theory {

std::vector<Claim> asger_claims() {
  return {};
}

}  // namespace kappascope::theory
