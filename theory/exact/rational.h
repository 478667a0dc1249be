// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>

#include "theory/exact/matrix.h"

namespace kappascope::theory {

/// A fraction of integers of any size, always in lowest terms. One whose parts have 63 bits is kept
/// in place, as nearly all are; Boost.Multiprecision, whose headers take seconds to compile and
/// stay in rational.cpp, does the arithmetic of the others.
class Rational {
 public:
  Rational() : Rational(0) {}
  template <std::integral Integer>
  Rational(Integer value) : Rational(value, Integer{1}) {}  // NOLINT: an integer is a fraction
  template <std::integral Integer>
  Rational(Integer numerator, Integer denominator) {
    if constexpr (std::signed_integral<Integer>) {
      construct(std::int64_t{numerator}, std::int64_t{denominator});
    } else {
      construct(std::uint64_t{numerator}, std::uint64_t{denominator});
    }
  }
  Rational(const Rational& other)
      : numerator_(other.numerator_),
        denominator_(other.denominator_),
        large_(other.large_ ? copy_of(*other.large_) : nullptr) {}
  Rational(Rational&& other) noexcept = default;
  Rational& operator=(const Rational& other) { return *this = Rational(other); }
  Rational& operator=(Rational&& other) noexcept = default;
  ~Rational() = default;

  Rational& operator+=(const Rational& other);
  Rational& operator-=(const Rational& other);
  Rational& operator*=(const Rational& other);
  /// Throws std::overflow_error when `other` is zero.
  Rational& operator/=(const Rational& other);
  friend Rational operator+(Rational left, const Rational& right) { return left += right; }
  friend Rational operator-(Rational left, const Rational& right) { return left -= right; }
  friend Rational operator*(Rational left, const Rational& right) { return left *= right; }
  friend Rational operator/(Rational left, const Rational& right) { return left /= right; }
  Rational operator-() const { return Rational() - *this; }

  friend bool operator==(const Rational& left, const Rational& right);
  friend std::strong_ordering operator<=>(const Rational& left, const Rational& right);

  /// The largest integer that is not above it.
  [[nodiscard]] Rational floor() const;
  [[nodiscard]] double to_double() const;
  [[nodiscard]] std::string text() const;  ///< "-3", "1/2"
  friend std::ostream& operator<<(std::ostream& out, const Rational& value);

 private:
  struct Large;
  struct Delete {
    void operator()(const Large* large) const;
  };
  using LargePointer = std::unique_ptr<const Large, Delete>;

  static LargePointer copy_of(const Large& large);
  void construct(std::int64_t numerator, std::int64_t denominator);
  void construct(std::uint64_t numerator, std::uint64_t denominator);
  /// Takes `value`: in place where its parts fit.
  void assign(Large value);
  [[nodiscard]] Large large() const;
  template <typename InPlace, typename ByBoost>
  void update(const Rational& other, InPlace in_place, ByBoost by_boost);

  std::int64_t numerator_ = 0, denominator_ = 1;  // where there is no large_; the second above zero
  LargePointer large_;
};

}  // namespace kappascope::theory
