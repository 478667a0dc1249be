// SPDX-License-Identifier: Apache-2.0
// "Bias redundancy": which biases of an attention block change nothing.
#include "theory/families/families.h"

namespace kappascope::theory {

std::vector<Claim> bias_redundancy_claims() {
  return {};
}

}  // namespace kappascope::theory
