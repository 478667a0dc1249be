// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "theory/exact/rational.h"

/// The functions of attention that lead out of the fractions, for double and, where the answer is
/// a fraction, for Rational: one reference is then run in floating point and, on chosen numbers,
/// without any rounding.
namespace kappascope::theory {

/// e^score. In fractions a score counts in units of ln 2, so this is 2^score; throws Error unless
/// the score is whole.
double exponential(double score);
Rational exponential(const Rational& score);

/// cap·tanh(score/cap). In fractions the cap and what is returned count in units of ln 2, and the
/// score in units of cap·(ln 2)²/2: cap·tanh(score·(ln 2)/2) = cap·(2^score - 1)/(2^score + 1).
/// Throws Error unless the score is whole.
double soft_capped(double score, double cap);
Rational soft_capped(const Rational& score, const Rational& cap);

/// In fractions: throws Error unless the root is a fraction with a denominator up to 64.
double square_root(double value);
Rational square_root(const Rational& value);

}  // namespace kappascope::theory
