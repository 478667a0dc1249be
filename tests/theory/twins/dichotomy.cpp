// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/dichotomy/odd_attention.h"
#include "theory/checks/offset_routes/constant_makers.h"
#include "theory/twins/twins.h"

namespace kappascope::theory {
namespace {

constexpr auto kSeed = kTwinSeed;

}  // namespace

Twins dichotomy_twins() {
  return {
      {"P-ODD",
       {[] { return check_makes_constant(symmetric_makes_none, kSeed); },
        [] { return check_makes_constant(always_makes_constant, kSeed); }}},
      {"P-ODD, the gated layer",
       {[] { return check_constant_makers(balanced, kSeed); },
        [] { return check_constant_makers(no_constant, kSeed); }}},
      {"P-ODD'",
       {[] { return check_odd(odd_without_value_bias, kSeed); },
        [] { return check_odd([](const BlockFacts&) { return std::optional(true); }, kSeed); }}},
      {"P-ODD', the constants",
       {[] { return check_makes_constant(symmetric_makes_none, kSeed); },
        [] {
          return check_makes_constant([](const ConstantCase&) { return std::optional(false); },
                                      kSeed);
        }}},
  };
}

}  // namespace kappascope::theory
