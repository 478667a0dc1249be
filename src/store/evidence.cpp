// SPDX-License-Identifier: Apache-2.0
#include "store/evidence.h"

namespace kappascope::store {

std::string how_sure(const Evidence& evidence) {
  if (evidence.route.empty()) return "";
  std::string cases = evidence.route;
  if (!evidence.cases.empty()) cases += ", " + evidence.cases + " cases";
  if (!evidence.sizes.empty()) cases += ", " + evidence.sizes;
  const bool holds = evidence.outcome == kHolds || evidence.outcome == kHoldsUnder;
  if (holds && evidence.route != "study") {
    if (evidence.proof.empty()) return "searched: " + cases;
    return "proved (" + evidence.proof + "); " + cases;
  }
  const bool named = cases.find("witness") != std::string::npos;
  if (evidence.outcome == kRefuted && !named) return "witness: " + cases;
  return cases;
}

}  // namespace kappascope::store
