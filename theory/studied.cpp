// SPDX-License-Identifier: Apache-2.0
#include "theory/studied.h"

#include <string_view>

#include "lab/study/result.h"
#include "theory/claim.h"

extern "C" {
extern const char kappascope_results_begin[], kappascope_results_end[];  // studied.S
}

namespace kappascope::theory {
namespace {

/// The outcome was of another statement.
void forget(Verdict& verdict) {
  verdict = {};
  verdict.route = "study";
  verdict.condition = "the study was not run again since the statement changed";
}

}  // namespace

std::vector<study::ClaimVerdict> studied(const std::string& claim) {
  static const auto results =
      study::parse_results({kappascope_results_begin, kappascope_results_end});
  std::vector<study::ClaimVerdict> found;
  for (const auto& result : results) {
    for (const auto& verdict : result.verdicts) {
      if (verdict.claim != claim) continue;
      found.push_back(verdict);
      found.back().study = result.name;
      const auto* asked = find_claim(claim);
      if (asked != nullptr && asked->statement != verdict.statement) forget(found.back().verdict);
    }
  }
  return found;
}

}  // namespace kappascope::theory
