// SPDX-License-Identifier: Apache-2.0
#include "theory/exact/rational.h"

#include <boost/multiprecision/cpp_int.hpp>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <optional>
#include <ostream>
#include <utility>

namespace kappascope::theory {
namespace {

using boost::multiprecision::cpp_int;
using boost::multiprecision::cpp_rational;

/// Of factors below 2⁶³ a sum of two products is below 2¹²⁷, and so exact.
__extension__ using Wide = __int128;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

bool fits(Wide value) {
  return value >= -Wide{kMost} && value <= Wide{kMost};
}

struct Small {
  std::int64_t numerator, denominator;
};

std::optional<Small> small(Wide numerator, Wide denominator) {
  if (!fits(numerator) || !fits(denominator)) return {};
  return Small{static_cast<std::int64_t>(numerator), static_cast<std::int64_t>(denominator)};
}

/// Knuth, The Art of Computer Programming 2, 4.5.1: what a sum can have in common with its
/// denominator divides the greatest common divisor of the two denominators.
std::optional<Small> sum(Small a, Small b) {
  const std::int64_t shared = std::gcd(a.denominator, b.denominator);
  const std::int64_t own = a.denominator / shared;
  const Wide numerator = Wide{a.numerator} * (b.denominator / shared) + Wide{b.numerator} * own;
  const auto common = std::gcd(static_cast<std::int64_t>(numerator % shared), shared);
  return small(numerator / common, Wide{own} * (b.denominator / common));
}

std::optional<Small> product(Small a, Small b) {
  const std::int64_t first = std::gcd(a.numerator, b.denominator);
  const std::int64_t second = std::gcd(b.numerator, a.denominator);
  return small(Wide{a.numerator / first} * (b.numerator / second),
               Wide{a.denominator / second} * (b.denominator / first));
}

}  // namespace

struct Rational::Large {
  cpp_rational value;
};

void Rational::Delete::operator()(const Large* large) const {
  delete large;
}

Rational::LargePointer Rational::copy_of(const Large& large) {
  return LargePointer(new Large(large));
}

void Rational::construct(std::int64_t numerator, std::int64_t denominator) {
  const int sign = denominator < 0 ? -1 : 1;
  if (!fits(numerator) || !fits(denominator) || denominator == 0) {
    assign({cpp_rational(sign * cpp_int(numerator), sign * cpp_int(denominator))});  // throws at 0
    return;
  }
  const std::int64_t common = sign * std::gcd(numerator, denominator);
  numerator_ = numerator / common;
  denominator_ = denominator / common;
}

void Rational::construct(std::uint64_t numerator, std::uint64_t denominator) {
  assign({cpp_rational(numerator, denominator)});
}

void Rational::assign(Large value) {
  const cpp_int above = numerator(value.value), below = denominator(value.value);
  if (abs(above) > kMost || below > kMost) {
    large_ = LargePointer(new Large(std::move(value)));
    return;
  }
  large_.reset();
  numerator_ = above.convert_to<std::int64_t>();
  denominator_ = below.convert_to<std::int64_t>();
}

Rational::Large Rational::large() const {
  return large_ ? *large_ : Large{cpp_rational(numerator_, denominator_)};
}

/// In place where both are and the result fits, else by Boost.
template <typename InPlace, typename ByBoost>
void Rational::update(const Rational& other, InPlace in_place, ByBoost by_boost) {
  if (!large_ && !other.large_) {
    const auto found =
        in_place(Small{numerator_, denominator_}, Small{other.numerator_, other.denominator_});
    if (found) {
      numerator_ = found->numerator;
      denominator_ = found->denominator;
      return;
    }
  }
  Large value = large();
  by_boost(value.value, other.large().value);
  assign(std::move(value));
}

Rational& Rational::operator+=(const Rational& other) {
  update(other, sum, [](auto& a, const auto& b) { a += b; });
  return *this;
}

Rational& Rational::operator-=(const Rational& other) {
  const auto difference = [](Small a, Small b) { return sum(a, {-b.numerator, b.denominator}); };
  update(other, difference, [](auto& a, const auto& b) { a -= b; });
  return *this;
}

Rational& Rational::operator*=(const Rational& other) {
  update(other, product, [](auto& a, const auto& b) { a *= b; });
  return *this;
}

Rational& Rational::operator/=(const Rational& other) {
  const auto quotient = [](Small a, Small b) -> std::optional<Small> {
    if (b.numerator == 0) return {};  // Boost throws
    const std::int64_t sign = b.numerator < 0 ? -1 : 1;
    return product(a, {sign * b.denominator, sign * b.numerator});
  };
  update(other, quotient, [](auto& a, const auto& b) { a /= b; });
  return *this;
}

bool operator==(const Rational& left, const Rational& right) {
  return std::is_eq(left <=> right);
}

std::strong_ordering operator<=>(const Rational& left, const Rational& right) {
  if (left.large_ || right.large_) {
    return left.large().value.compare(right.large().value) <=> 0;
  }
  const Wide a = Wide{left.numerator_} * right.denominator_;
  const Wide b = Wide{right.numerator_} * left.denominator_;
  return a < b   ? std::strong_ordering::less
         : a > b ? std::strong_ordering::greater
                 : std::strong_ordering::equal;
}

Rational Rational::floor() const {
  const cpp_rational value = large().value;
  const cpp_int above = numerator(value), below = denominator(value);
  Rational whole;
  whole.assign(
      {cpp_rational(above < 0 ? cpp_int((above - below + 1) / below) : cpp_int(above / below))});
  return whole;
}

double Rational::to_double() const {
  constexpr std::int64_t kExact = std::int64_t{1} << std::numeric_limits<double>::digits;
  if (!large_ && std::abs(numerator_) <= kExact && denominator_ <= kExact) {
    return static_cast<double>(numerator_) / static_cast<double>(denominator_);
  }
  return large().value.convert_to<double>();
}

std::string Rational::text() const {
  return large().value.str();
}

std::ostream& operator<<(std::ostream& out, const Rational& value) {
  return out << value.text();
}

}  // namespace kappascope::theory
