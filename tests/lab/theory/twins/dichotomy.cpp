// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "lab/theory/twins/twins.h"
#include "theory/checks/dichotomy/odd_attention.h"
#include "theory/checks/dichotomy/plain_stack.h"
#include "theory/checks/offset_routes/boundaries.h"
#include "theory/checks/offset_routes/constant_makers.h"

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
      {"P-SOFT",
       {[] {
          return check_softens(
              [](const Perturbation& one) -> std::optional<bool> {
                const bool biased = one.first.bias.squared_norm() != 0;
                return biased ? std::nullopt : std::optional(true);
              },
              kSeed);
        },
        [] {
          return check_softens([](const Perturbation&) { return std::optional(true); }, kSeed);
        }}},
      {"P-FLAT",
       {[] { return check_order_in_input(doubling_order, kSeed); },
        [] {
          return check_order_in_input(
              [](const PlainStack& stack) {
                return 2 * static_cast<std::int64_t>(stack.layers.size());
              },
              kSeed);
        }}},
      {"P-FLAT, with a bias",
       {[] { return check_order_in_input(doubling_order, kSeed); },
        [] {
          return check_order_in_input(
              [](const PlainStack& stack) { return std::int64_t{1} << stack.layers.size(); },
              kSeed);
        }}},
      {"P-FLAT, no order at all",
       {[] { return check_order_in_input(doubling_order, kSeed); },
        [] {
          return check_order_in_input([](const PlainStack&) { return std::int64_t{0}; }, kSeed);
        }}},
      {"P-SOFT'",
       {[] { return check_own_change([](const Rational& a) { return a; }, kSeed); },
        [] { return check_own_change([](const Rational& a) { return a / 2; }, kSeed); }}},
      {"P-SOFT', the next layer",
       {[] { return check_perturbations(perturbations()); },
        [] {
          auto turned = perturbations();
          std::swap(turned[0].with, turned[1].with);
          return check_perturbations(turned);
        }}},
  };
}

}  // namespace kappascope::theory
