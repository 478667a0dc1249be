// SPDX-License-Identifier: Apache-2.0
#include "theory/exact/rational.h"

namespace kappascope::theory {

Rational& Rational::operator+=(const Rational& other) {
  value_ += other.value_;
  return *this;
}

Rational& Rational::operator-=(const Rational& other) {
  value_ -= other.value_;
  return *this;
}

Rational& Rational::operator*=(const Rational& other) {
  value_ *= other.value_;
  return *this;
}

Rational& Rational::operator/=(const Rational& other) {
  value_ /= other.value_;
  return *this;
}

bool operator==(const Rational& left, const Rational& right) {
  return left.value_ == right.value_;
}

std::strong_ordering operator<=>(const Rational& left, const Rational& right) {
  return left.value_.compare(right.value_) <=> 0;
}

Rational Rational::floor() const {
  using boost::multiprecision::cpp_int;
  const cpp_int above = numerator(value_), below = denominator(value_);
  Rational whole;
  whole.value_ = above < 0 ? cpp_int((above - below + 1) / below) : cpp_int(above / below);
  return whole;
}

double Rational::to_double() const {
  return value_.convert_to<double>();
}

std::string Rational::text() const {
  return value_.str();
}

}  // namespace kappascope::theory
