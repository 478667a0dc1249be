// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <compare>
#include <concepts>
#include <ostream>
#include <string>

// g++ 12 takes the small-number buffer of cpp_int for uninitialised where Eigen copies blocks.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <boost/multiprecision/cpp_int.hpp>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

namespace kappascope::theory {

/// An exact fraction of integers of any size: what a witness is re-checked in. It wraps Boost's,
/// which cannot stand in an Eigen matrix itself: its converting constructors look at every type
/// that has iterators, and Eigen 3.4 matrices have them. The arithmetic is not inline: it would be
/// instantiated, slowly, in every file that includes this.
class Rational {
 public:
  Rational() = default;
  template <std::integral Integer>
  Rational(Integer value) : value_(value) {}  // NOLINT: an integer is a fraction
  template <std::integral Integer>
  Rational(Integer numerator, Integer denominator) : value_(numerator, denominator) {}

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
  friend std::ostream& operator<<(std::ostream& out, const Rational& value) {
    return out << value.text();
  }

 private:
  boost::multiprecision::cpp_rational value_;
};

template <typename Scalar>
using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
template <typename Scalar>
using Vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;

}  // namespace kappascope::theory

template <>
struct Eigen::NumTraits<kappascope::theory::Rational>
    : Eigen::GenericNumTraits<kappascope::theory::Rational> {
  using Real = kappascope::theory::Rational;
  using NonInteger = kappascope::theory::Rational;
  using Nested = kappascope::theory::Rational;
  static constexpr int digits10() { return 0; }  // Eigen prints exact scalars in full then
  // NOLINTBEGIN(readability-identifier-naming): Eigen's names
  enum {
    IsInteger = 0,
    IsSigned = 1,
    IsComplex = 0,
    RequireInitialization = 1,
    ReadCost = 10,
    AddCost = 100,
    MulCost = 100
  };
  // NOLINTEND(readability-identifier-naming)
};
