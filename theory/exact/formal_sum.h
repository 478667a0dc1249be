// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "theory/exact/rational.h"

namespace kappascope::theory {

/// An exact number q + Σ q_k s(k), where the s(k), k > 0, are irrational and together with 1
/// linearly independent over the rationals: two such numbers are equal exactly when their
/// coefficients are. So a statement about transcendental or algebraic numbers is decided without
/// an approximation. Two kinds of s serve:
///  - σ(k) = 1/(1 + e^{-k}) at rational k. With N a common denominator and X = e^{1/N}, σ(k) is
///    1 - 1/(1 + X^{kN}); X is transcendental, so a rational relation would be one between
///    rational functions, and 1/(1 + X^n) has a pole at e^{iπ/n} that no smaller n has.
///  - √k at square-free integers k > 1.
/// All terms of one sum are of one kind; which one, the caller knows.
class FormalSum {
 public:
  FormalSum() = default;
  FormalSum(const Rational& value) { add(0, value); }  // NOLINT: a rational is a sum
  /// s(k), for k > 0.
  static FormalSum symbol(const Rational& key) {
    FormalSum sum;
    sum.add(key, 1);
    return sum;
  }

  friend FormalSum operator+(FormalSum left, const FormalSum& right) { return left += right; }
  friend FormalSum operator-(FormalSum left, const FormalSum& right) { return left -= right; }
  friend FormalSum operator*(const Rational& factor, const FormalSum& sum) {
    FormalSum product;
    for (const auto& [key, coefficient] : sum.terms_) product.add(key, factor * coefficient);
    return product;
  }
  FormalSum& operator+=(const FormalSum& other) {
    for (const auto& [key, coefficient] : other.terms_) add(key, coefficient);
    return *this;
  }
  FormalSum& operator-=(const FormalSum& other) { return *this += -1 * other; }
  friend bool operator==(const FormalSum& left, const FormalSum& right) = default;

  /// The coefficients that are not zero; that of 1 has the key 0.
  [[nodiscard]] const std::map<Rational, Rational>& terms() const { return terms_; }
  [[nodiscard]] double to_double(double (*value_of)(double)) const;
  /// "1 + 3/2·σ(2)", for the name "σ".
  [[nodiscard]] std::string text(const std::string& name) const;

 private:
  void add(const Rational& key, const Rational& coefficient) {
    auto& sum = terms_[key];
    sum += coefficient;
    if (sum == 0) terms_.erase(key);
  }

  std::map<Rational, Rational> terms_;
};

}  // namespace kappascope::theory
