// SPDX-License-Identifier: Apache-2.0
#include "theory/tools/significance.h"

#include "core/require.h"

namespace kappascope::theory {

Enclosure binomial_tail(int trials, int at_least, const Rational& p) {
  require(at_least >= 0 && at_least <= trials, "at_least must be 0 to {}", trials);
  if (at_least == 0 || p == 1) return Enclosure(1);
  if (p == 0) return Enclosure(0);
  // Integers throughout: a sum of fractions would spend its time on common divisors.
  Rational all;
  fmpz_set(fmpq_numref(all.flint()), fmpq_denref(p.flint()));
  const Rational success = p * all, failure = all - success;
  Rational term = 1, power = 1, sum = 0;
  for (int k = 0; k < trials; ++k) {
    term *= success;
    power *= all;
  }
  for (int k = trials; k >= at_least; --k) {
    sum += term;
    term *= k * failure;
    term /= (trials - k + 1) * success;
  }
  const Rational unit(1L, 1L << 60), lower = (sum / power / unit).floor() * unit;
  return {lower, lower + unit};
}

Enclosure variance_ratio_cdf(const Rational& f, int n) {
  require(n >= 3 && n % 2 == 1, "the number of runs must be odd and at least 3, got {}", n);
  const int half = (n - 1) / 2;
  return binomial_tail(2 * half - 1, half, f / (1 + f));
}

Rational student_confidence_squared(const Rational& t_squared, int degrees) {
  require(degrees >= 2 && degrees % 2 == 0,
          "the degrees of freedom must be even and at least 2, got {}",
          degrees);
  const Rational sine = t_squared / (degrees + t_squared), cosine = 1 - sine;
  Rational sum = 0, term = 1;
  for (int k = 1; k <= degrees / 2; ++k) {
    sum += term;
    term *= cosine * Rational(2 * k - 1, 2 * k);
  }
  return sine * sum * sum;
}

}  // namespace kappascope::theory
