// SPDX-License-Identifier: Apache-2.0
#include "kappascope/theory/claim.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace kappascope::theory {
namespace {

/// JSON has no infinity: it becomes a word, where the library would write null.
nlohmann::ordered_json number(double value) {
  if (std::isnan(value)) return nullptr;
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

nlohmann::ordered_json number(const std::optional<double>& value) {
  return value ? number(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

const char* to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::kHolds:
      return "holds";
    case Outcome::kHoldsUnder:
      return "holds under a condition";
    case Outcome::kRefuted:
      return "refuted";
    case Outcome::kMeasured:
      return "measured";
    case Outcome::kUndecided:
      return "undecided";
  }
  return "?";
}

std::string verdict_json(const Claim& claim, const Verdict& verdict) {
  const nlohmann::ordered_json json{{"claim", claim.id},
                                    {"source", claim.source},
                                    {"statement", claim.statement},
                                    {"assumptions", claim.assumptions},
                                    {"derivation", claim.derivation},
                                    {"outcome", to_string(verdict.outcome)},
                                    {"condition", verdict.condition},
                                    {"left", verdict.left},
                                    {"right", verdict.right},
                                    {"measured", number(verdict.measured)},
                                    {"predicted", number(verdict.predicted)},
                                    {"lower", number(verdict.lower)},
                                    {"upper", number(verdict.upper)},
                                    {"margin", number(verdict.margin)},
                                    {"tolerance", number(verdict.tolerance)},
                                    {"cases", verdict.cases},
                                    {"seed", verdict.seed},
                                    {"witness", verdict.witness},
                                    {"route", verdict.route},
                                    {"seconds", number(verdict.seconds)}};
  return json.dump();
}

}  // namespace kappascope::theory
