// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/bias_redundancy/norms.h"

#include "theory/checks/bias_redundancy/arithmetic.h"

namespace kappascope::theory {
namespace {

template <typename Scalar>
Scalar mean(const Vector<Scalar>& z) {
  return z.sum() / Scalar(z.size());
}

int sign(const Rational& value) {
  return value > 0 ? 1 : (value < 0 ? -1 : 0);
}

}  // namespace

template <typename Scalar>
Vector<Scalar> Normalised<Scalar>::value() const {
  return numerator / square_root(square);
}

template <typename Scalar>
Normalised<Scalar> rms_norm(const Vector<Scalar>& z, const Scalar& epsilon) {
  return {z, mean<Scalar>(z.cwise_product(z)) + epsilon};
}

template <typename Scalar>
Normalised<Scalar> layer_norm(const Vector<Scalar>& z, const Scalar& epsilon) {
  return rms_norm<Scalar>(z - Vector<Scalar>::ones(z.size()) * mean(z), epsilon);
}

template struct Normalised<double>;
template struct Normalised<Rational>;
template Normalised<double> rms_norm(const Vector<double>&, const double&);
template Normalised<Rational> rms_norm(const Vector<Rational>&, const Rational&);
template Normalised<double> layer_norm(const Vector<double>&, const double&);
template Normalised<Rational> layer_norm(const Vector<Rational>&, const Rational&);

bool same(const Normalised<Rational>& a, const Normalised<Rational>& b) {
  for (Index i = 0; i < a.numerator.size(); ++i) {
    const Rational &x = a.numerator(i), &y = b.numerator(i);
    if (sign(x) != sign(y) || x * x * b.square != y * y * a.square) return false;
  }
  return true;
}

const char* to_string(Norm norm) {
  return norm == Norm::kLayer ? "LayerNorm" : "RMSNorm";
}

Normalised<Rational> normalise(Norm norm, const Vector<Rational>& z, const Rational& epsilon) {
  return norm == Norm::kLayer ? layer_norm(z, epsilon) : rms_norm(z, epsilon);
}

}  // namespace kappascope::theory
