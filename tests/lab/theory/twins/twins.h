// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "theory/claim.h"

/// A twin of a claim is its check, fed once with a statement that is right and once with one that
/// is wrong. One function a family, each in the file of its name; "P-L1, second part" is a further
/// twin of P-L1.
namespace kappascope::theory {

struct Twin {
  std::function<Verdict()> right, wrong;
};
using Twins = std::map<std::string, Twin>;

constexpr std::uint64_t kTwinSeed = 5;

Twins dichotomy_twins();
Twins offsets_twins();
Twins offset_routes_twins();
Twins proposition1_twins();
Twins descent_twins();
Twins variance_control_twins();
Twins lemma2_twins();
Twins centring_twins();
Twins bias_redundancy_twins();
Twins asger_twins();
Twins isotropy_twins();
Twins costs_twins();

/// A measured claim finds its statement true in a run where it is, and false where it is not: the
/// verdict is turned into one of the two outcomes that the twins are held to.
Verdict read_as(Verdict verdict, double expected);

}  // namespace kappascope::theory
