// SPDX-License-Identifier: Apache-2.0
#include "theory/exact/formal_sum.h"

#include <cassert>

namespace kappascope::theory {

FormalSum FormalSum::symbol(const Rational& key) {
  assert(key > 0);
  FormalSum sum;
  sum.add(key, 1);
  return sum;
}

FormalSum& FormalSum::operator+=(const FormalSum& other) {
  for (const auto& [key, coefficient] : other.terms_) add(key, coefficient);
  return *this;
}

FormalSum& FormalSum::operator-=(const FormalSum& other) {
  for (const auto& [key, coefficient] : other.terms_) add(key, -coefficient);
  return *this;
}

FormalSum& FormalSum::operator*=(const Rational& factor) {
  if (factor == 0) terms_.clear();
  for (auto& term : terms_) term.second *= factor;
  return *this;
}

double FormalSum::to_double(double (*value_of)(double)) const {
  double sum = 0;
  for (const auto& [key, coefficient] : terms_) {
    sum += coefficient.to_double() * (key == 0 ? 1 : value_of(key.to_double()));
  }
  return sum;
}

std::string FormalSum::text(const std::string& name) const {
  std::string out;
  for (const auto& [key, coefficient] : terms_) {
    const bool negative = coefficient < 0;
    const Rational size = negative ? -coefficient : coefficient;
    out += out.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    if (key == 0) {
      out += size.text();
    } else {
      out += (size == 1 ? "" : size.text() + "·") + name + "(" + key.text() + ")";
    }
  }
  return out.empty() ? "0" : out;
}

void FormalSum::add(const Rational& key, const Rational& coefficient) {
  auto& sum = terms_[key];
  sum += coefficient;
  if (sum == 0) terms_.erase(key);
}

}  // namespace kappascope::theory
