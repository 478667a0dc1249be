// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpfr.h>
// FLINT 3 declares what it has for MPFR only behind it.
#include <flint/fmpq.h>
#include <fmt/format.h>

#include <compare>
#include <concepts>
#include <iosfwd>
#include <string>

#include "theory/exact/matrix.h"

namespace kappascope::theory {

/// A fraction of integers of any size, always in lowest terms: FLINT's, which keeps parts of 62
/// bits in place.
class Rational {
 public:
  Rational() { fmpq_init(value_); }
  template <std::integral Integer>
  Rational(Integer value) : Rational() {  // NOLINT: an integer is a fraction
    if constexpr (std::signed_integral<Integer>) {
      fmpz_set_si(fmpq_numref(value_), value);
    } else {
      fmpz_set_ui(fmpq_numref(value_), value);
    }
  }
  /// Throws std::overflow_error when the denominator is zero.
  template <std::integral Integer>
  Rational(Integer numerator, Integer denominator) : Rational(numerator) {
    *this /= Rational(denominator);
  }
  explicit Rational(const fmpq* value) : Rational() { fmpq_set(value_, value); }
  Rational(const Rational& other) : Rational(other.value_) {}
  Rational(Rational&& other) noexcept : Rational() { fmpq_swap(value_, other.value_); }
  Rational& operator=(Rational other) noexcept {
    fmpq_swap(value_, other.value_);
    return *this;
  }
  ~Rational() { fmpq_clear(value_); }

  Rational& operator+=(const Rational& other) {
    fmpq_add(value_, value_, other.value_);
    return *this;
  }
  Rational& operator-=(const Rational& other) {
    fmpq_sub(value_, value_, other.value_);
    return *this;
  }
  Rational& operator*=(const Rational& other) {
    fmpq_mul(value_, value_, other.value_);
    return *this;
  }
  /// Throws std::overflow_error when `other` is zero.
  Rational& operator/=(const Rational& other);
  friend Rational operator+(Rational left, const Rational& right) { return left += right; }
  friend Rational operator-(Rational left, const Rational& right) { return left -= right; }
  friend Rational operator*(Rational left, const Rational& right) { return left *= right; }
  friend Rational operator/(Rational left, const Rational& right) { return left /= right; }
  Rational operator-() const { return Rational() - *this; }

  friend bool operator==(const Rational& left, const Rational& right) {
    return fmpq_equal(left.value_, right.value_) != 0;
  }
  friend std::strong_ordering operator<=>(const Rational& left, const Rational& right) {
    return fmpq_cmp(left.value_, right.value_) <=> 0;
  }

  /// The largest integer that is not above it.
  [[nodiscard]] Rational floor() const;
  [[nodiscard]] double to_double() const;  ///< the nearest
  [[nodiscard]] std::string text() const;  ///< "-3", "1/2"
  /// For FLINT's functions, which leave it in lowest terms.
  [[nodiscard]] const fmpq* flint() const { return value_; }
  [[nodiscard]] fmpq* flint() { return value_; }
  friend std::ostream& operator<<(std::ostream& out, const Rational& value);

 private:
  fmpq_t value_ = {};
};

/// What has a text() is written by fmt as that text.
template <typename T>
concept HasText = requires(const T& value) {
  { value.text() } -> std::convertible_to<std::string>;
};

}  // namespace kappascope::theory

template <kappascope::theory::HasText T>
struct fmt::formatter<T> : fmt::formatter<std::string> {
  auto format(const T& value, fmt::format_context& context) const {
    return fmt::formatter<std::string>::format(value.text(), context);
  }
};
