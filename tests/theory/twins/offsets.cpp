// SPDX-License-Identifier: Apache-2.0
#include "theory/twins/twins.h"

namespace kappascope::theory {

Twins offsets_twins() {
  return {};
}

}  // namespace kappascope::theory
