// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "theory/claim.h"
#include "theory/exact/rational.h"

/// How many runs show that a change reduces the variance of the loss. With n runs an arm and
/// normal losses the ratio of the two sample variances is Fisher's F with (n-1, n-1) degrees of
/// freedom times the true ratio; the test at 5 %, two-sided, rejects equal variances outside
/// [1/c, c] with P(F > c) = 1/40. For odd n its distribution is a finite sum of fractions
/// (theory/tools/significance.h), and c is bracketed by two of them.
namespace kappascope::theory {

/// Whether `runs` runs an arm whose sample variances have the ratio `observed` <= 1 show, at 5 %
/// and two-sided, that the variances differ.
struct VarianceFinding {
  int runs = 5;
  Rational observed;
  bool shown = false;
};
Verdict check_variance_findings(const std::vector<VarianceFinding>& says);

/// With `runs` runs an arm the test finds a true ratio `ratio` in at least `power` of all
/// experiments, or does not.
struct PowerStatement {
  int runs = 5;
  Rational ratio, power;
  bool reached = false;
};
/// About 0.1 s for a thousand runs.
Verdict check_power(const std::vector<PowerStatement>& says);

}  // namespace kappascope::theory
