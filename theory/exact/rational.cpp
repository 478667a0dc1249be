// SPDX-License-Identifier: Apache-2.0
#include "theory/exact/rational.h"

#include <boost/multiprecision/cpp_int.hpp>
#include <memory>
#include <new>
#include <ostream>
#include <utility>

namespace kappascope::theory {

using boost::multiprecision::cpp_int;
using boost::multiprecision::cpp_rational;

struct Rational::Access {
  static_assert(sizeof(cpp_rational) <= sizeof(Rational::storage_));
  static_assert(alignof(cpp_rational) <= alignof(std::max_align_t));
  static cpp_rational& of(Rational& value) {
    return *std::launder(reinterpret_cast<cpp_rational*>(value.storage_));
  }
  static const cpp_rational& of(const Rational& value) {
    return *std::launder(reinterpret_cast<const cpp_rational*>(value.storage_));
  }
};

void Rational::construct(std::int64_t numerator, std::int64_t denominator) {
  new (storage_) cpp_rational(numerator, denominator);
}

void Rational::construct(std::uint64_t numerator, std::uint64_t denominator) {
  new (storage_) cpp_rational(numerator, denominator);
}

Rational::Rational(const Rational& other) {
  new (storage_) cpp_rational(Access::of(other));
}

Rational::Rational(Rational&& other) noexcept {
  new (storage_) cpp_rational(std::move(Access::of(other)));
}

Rational& Rational::operator=(const Rational& other) {
  if (this != &other) Access::of(*this) = Access::of(other);
  return *this;
}

Rational& Rational::operator=(Rational&& other) noexcept {
  Access::of(*this) = std::move(Access::of(other));
  return *this;
}

Rational::~Rational() {
  std::destroy_at(&Access::of(*this));
}

Rational& Rational::operator+=(const Rational& other) {
  Access::of(*this) += Access::of(other);
  return *this;
}

Rational& Rational::operator-=(const Rational& other) {
  Access::of(*this) -= Access::of(other);
  return *this;
}

Rational& Rational::operator*=(const Rational& other) {
  Access::of(*this) *= Access::of(other);
  return *this;
}

Rational& Rational::operator/=(const Rational& other) {
  Access::of(*this) /= Access::of(other);
  return *this;
}

bool operator==(const Rational& left, const Rational& right) {
  return Rational::Access::of(left) == Rational::Access::of(right);
}

std::strong_ordering operator<=>(const Rational& left, const Rational& right) {
  return Rational::Access::of(left).compare(Rational::Access::of(right)) <=> 0;
}

Rational Rational::floor() const {
  const cpp_int above = numerator(Access::of(*this)), below = denominator(Access::of(*this));
  Rational whole;
  Access::of(whole) = above < 0 ? cpp_int((above - below + 1) / below) : cpp_int(above / below);
  return whole;
}

double Rational::to_double() const {
  return Access::of(*this).convert_to<double>();
}

std::string Rational::text() const {
  return Access::of(*this).str();
}

std::ostream& operator<<(std::ostream& out, const Rational& value) {
  return out << value.text();
}

}  // namespace kappascope::theory
