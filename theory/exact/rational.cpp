// SPDX-License-Identifier: Apache-2.0
#include "theory/exact/rational.h"

#include <memory>
#include <ostream>
#include <stdexcept>

namespace kappascope::theory {

Rational& Rational::operator/=(const Rational& other) {
  if (other == 0) throw std::overflow_error("division by zero");  // FLINT ends the program
  fmpq_div(value_, value_, other.value_);
  return *this;
}

Rational Rational::floor() const {
  Rational whole;
  fmpz_fdiv_q(fmpq_numref(whole.value_), fmpq_numref(value_), fmpq_denref(value_));
  return whole;
}

double Rational::to_double() const {
  mpfr_t nearest;
  mpfr_init2(nearest, 53);
  fmpq_get_mpfr(nearest, value_, MPFR_RNDN);
  const double value = mpfr_get_d(nearest, MPFR_RNDN);
  mpfr_clear(nearest);
  return value;
}

std::string Rational::text() const {
  const std::unique_ptr<char, decltype(&flint_free)> digits(fmpq_get_str(nullptr, 10, value_),
                                                            flint_free);
  return digits.get();
}

std::ostream& operator<<(std::ostream& out, const Rational& value) {
  return out << value.text();
}

}  // namespace kappascope::theory
