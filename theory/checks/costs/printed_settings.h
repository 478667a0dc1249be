// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "theory/claim.h"
#include "theory/exact/enclosure.h"

/// What the settings that two of the documents print say together.
namespace kappascope::theory {

/// How a product of a matrix and a token is read: W x with x a column, or x W with x a row.
enum class Operand { kColumns, kRows };

/// Whether equation 3 of ASGER can be evaluated with the printed shapes, W_g, W_u [d, f],
/// W_s, V_s [f, f] and W_d [f, d].
using Composes = std::function<bool(Operand operand, int d, int f)>;
bool rows_compose(Operand operand, int d, int f);  ///< rows always, columns for d = f
/// In the conventions given, at d and f from 1 to 12.
Verdict check_composes(const Composes& says, const std::vector<Operand>& operands);

/// e^loss of a loss as it is printed, in nats a token.
struct Perplexity {
  std::string loss;
  Enclosure value;
};
/// Whether the perplexities of all that round to the printed loss lie in `value`.
Verdict check_perplexity(const std::vector<Perplexity>& says);

/// The highest learning rate within `steps` steps, as a share of the peak, for a linear warm-up of
/// `warmup` steps.
using HighestRate = std::function<Rational(int steps, int warmup)>;
Rational derived_highest_rate(int steps, int warmup);  ///< min(steps/warmup, 1)
/// Against the schedule, step by step; with a warm-up of 4,000 steps and these numbers of steps.
Verdict check_highest_rate(const HighestRate& says, const std::vector<int>& steps);

}  // namespace kappascope::theory
