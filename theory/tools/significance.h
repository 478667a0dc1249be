// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "theory/exact/enclosure.h"

/// The tests of classical statistics without rounding. With even degrees of freedom the
/// distributions of Student and of Fisher are finite sums of fractions, so that "not significant"
/// is a fact that can be checked by hand.
namespace kappascope::theory {

/// P(X >= at_least) for X the number of successes in `trials` of probability `p`, 0 <= p <= 1:
/// summed exactly and then enclosed to within 2⁻⁶⁰. O(trials) operations on integers of O(trials)
/// digits: a few milliseconds for 1,000 trials.
Enclosure binomial_tail(int trials, int at_least, const Rational& p);

/// P(F <= f) for F the ratio of two sample variances of n normal values each, of equal variance:
/// with x = f/(1+f) it is the incomplete beta function I_x(a, a), a = (n-1)/2, which is the
/// binomial tail P(X >= a) of 2a - 1 trials. n odd and at least 3, f >= 0.
Enclosure variance_ratio_cdf(const Rational& f, int n);

/// The square of P(|T| <= t) for Student's T with an even number of degrees of freedom ν, from t²:
/// with s² = t²/(ν + t²) and c² = 1 - s² it is s²·(Σ_{k < ν/2} C(2k, k) (c²/4)^k)²; significant at
/// 5 % means at least (19/20)². ν even and at least 2.
Rational student_confidence_squared(const Rational& t_squared, int degrees);

}  // namespace kappascope::theory
