// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string>

namespace kappascope::testing {

/// How many damaged files a test tries: KAPPASCOPE_MUTATIONS in the environment, as tests/hardening
/// sets it, or `by_default`.
inline int mutations(int by_default) {
  const char* asked = std::getenv("KAPPASCOPE_MUTATIONS");
  return asked == nullptr ? by_default : std::stoi(asked);
}

}  // namespace kappascope::testing
