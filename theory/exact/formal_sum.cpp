// SPDX-License-Identifier: Apache-2.0
#include "theory/exact/formal_sum.h"

namespace kappascope::theory {

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

}  // namespace kappascope::theory
