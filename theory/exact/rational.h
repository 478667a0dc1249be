// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>

#include "theory/exact/matrix.h"

namespace kappascope::theory {

/// A fraction of integers of any size, always in lowest terms. Boost.Multiprecision does the
/// arithmetic; its headers take seconds to compile and stay in rational.cpp.
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
  Rational(const Rational& other);
  Rational(Rational&& other) noexcept;
  Rational& operator=(const Rational& other);
  Rational& operator=(Rational&& other) noexcept;
  ~Rational();

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
  struct Access;  // to the value in `storage_`, in rational.cpp

  void construct(std::int64_t numerator, std::int64_t denominator);
  void construct(std::uint64_t numerator, std::uint64_t denominator);

  alignas(std::max_align_t) std::byte storage_[64]{};
};

}  // namespace kappascope::theory
