// SPDX-License-Identifier: Apache-2.0
// The identities on which theory/PROOFS.md rests, for all values of their variables at once: two
// polynomials are compared, not two numbers.
#include "polynomial.h"
#include "support/catch.h"

using namespace kappascope::theory;

namespace {

Polynomial var(const std::string& name) {
  return Polynomial::variable(name);
}

PolynomialMatrix identity(Index size) {
  return PolynomialMatrix::identity(size);
}

PolynomialMatrix transpose(const PolynomialMatrix& a) {
  return a.transpose();
}

PolynomialMatrix blocks(const PolynomialMatrix& a,
                        const PolynomialMatrix& b,
                        const PolynomialMatrix& c,
                        const PolynomialMatrix& d) {
  return below(beside(a, b), beside(c, d));
}

}  // namespace

TEST_CASE("polynomials are equal exactly when all their coefficients are") {
  const auto x = var("x"), y = var("y");
  CHECK((x + y) * (x - y) == x * x - y * y);
  CHECK_FALSE((x + y) * (x + y) == x * x + y * y);
  CHECK(x * y == y * x);
  CHECK(x - x == Polynomial());
  CHECK((x * y).depends_on("y"));
  CHECK_FALSE((x * y - y * x + x).depends_on("y"));
  const auto a = variables("a", 3, 3);
  CHECK(a * adjugate(a) == determinant(a) * identity(3));
}

TEST_CASE(
    "proof 1: scores are even and values odd in X, and a pair of mirrored units is a product") {
  const auto x = variables("x", 2, 2), query = variables("q", 2, 2), key = variables("k", 2, 2);
  const auto negative = Polynomial(-1) * x;
  const auto scores = [&](const PolynomialMatrix& at) { return at * query * transpose(at * key); };
  CHECK(scores(negative) == scores(x));
  const auto shifted = [&](const PolynomialMatrix& at) {
    return (at * query + variables("b", 2, 2)) * transpose(at * key);
  };
  CHECK_FALSE(shifted(negative) == shifted(x));
  // act(t) = tσ for u·x = u and g·x = t, with σ(-t) = 1 - σ.
  const auto u = var("u"), t = var("t"), sigma = var("s");
  CHECK(u * (t * sigma) + (-u) * ((-t) * (Polynomial(1) - sigma)) == u * t);
}

TEST_CASE("proof 2: the cross term of an exact fit vanishes") {
  // E b_in = 0 in two dimensions: each row of E is a multiple of (-b2, b1). Times ‖b_in‖².
  const auto in = variables("b", 2, 1), out = variables("o", 2, 1), rows = variables("e", 2, 1);
  const PolynomialMatrix across{{-in(1), in(0)}};
  const auto deviation = rows * across, fit = out * transpose(in);
  const auto length = (transpose(in) * in).value();
  const auto whole = fit + length * deviation;  // ‖b_in‖²Δ
  CHECK(whole * transpose(whole) ==
        length * (out * transpose(out)) + (length * length) * (deviation * transpose(deviation)));
}

TEST_CASE("proof 3: the adjugate solves the normal equations of least error") {
  const auto sigma = symmetric_variables("s", 3), b = variables("b", 3, 1);
  const auto direction = adjugate(sigma) * b;
  const auto weight = determinant(sigma) + (transpose(b) * direction)(0);
  CHECK((sigma + b * transpose(b)) * direction == weight * b);
}

TEST_CASE("proof 4: the symmetric part of a rank-one matrix has one positive eigenvalue at most") {
  const auto v = variables("v", 2, 1), g = variables("g", 2, 1);
  const auto product = v * transpose(g) + g * transpose(v);
  const auto wedge = v(0) * g(1) - v(1) * g(0);
  CHECK(determinant(product) == Polynomial(-1) * wedge * wedge);
}

TEST_CASE("proofs 5 and 6: the determinant of a rank-one update") {
  for (const int d : {2, 3}) {
    const auto sigma = symmetric_variables("s", d), mu = variables("m", d, 1);
    const auto update = (transpose(mu) * adjugate(sigma) * mu)(0);
    CHECK(determinant(sigma + mu * transpose(mu)) == determinant(sigma) + update);
    CHECK(determinant(sigma - mu * transpose(mu)) == determinant(sigma) - update);
  }
}

TEST_CASE("proofs 7 and 8: the joint Hessian is centred by a shear, and eliminating c leaves Σ") {
  const auto sigma = symmetric_variables("s", 2), mu = variables("m", 2, 1);
  const PolynomialMatrix column(2, 1), row(1, 2), one = identity(1);
  const auto joint = blocks(sigma + mu * transpose(mu), mu, transpose(mu), one);
  const auto shear = blocks(identity(2), mu, row, one);
  CHECK(joint == shear * blocks(sigma, column, row, one) * transpose(shear));
  CHECK_FALSE(joint == blocks(sigma, column, row, one));
  CHECK((sigma + mu * transpose(mu)) - mu * transpose(mu) == sigma);
  CHECK(determinant(joint) == determinant(sigma));
}

TEST_CASE("proof 9: a step of gradient descent contracts the error by I - ηH") {
  // b_out b_inᵀ is Δ*H, whatever H is.
  const auto hessian = symmetric_variables("h", 2);
  const auto target = variables("t", 2, 2), delta = variables("d", 2, 2);
  const auto eta = var("η");
  const auto stepped = delta - eta * (delta * hessian - target * hessian);
  CHECK(stepped - target == (delta - target) * (identity(2) - eta * hessian));
}

TEST_CASE("proof 10: the second moment of a masked regressor, for every law of two values") {
  // S is s1 with probability w and s2 otherwise, M is 1 with probability p and 0 otherwise.
  const auto p = var("p"), w = var("w"), s1 = var("s1"), s2 = var("s2"), b = var("b");
  const auto rest = Polynomial(1) - w, dropped = Polynomial(1) - p;
  const auto square = [](const Polynomial& a) { return a * a; };
  const auto mean = w * s1 + rest * s2;
  const auto variance = w * square(s1) + rest * square(s2) - square(mean);
  const auto moment = p * (w * square(s1 + b) + rest * square(s2 + b)) + dropped * square(b);
  CHECK(moment == p * variance + p * dropped * square(mean) + square(p * mean + b));
  // The published formula lacks the middle term.
  CHECK_FALSE(moment == p * variance + square(p * mean + b));
  const auto after = p * (w * square(s1 + b) + rest * square(s2 + b));
  CHECK(after == p * (variance + square(mean + b)));
}

TEST_CASE("proof 11: shifting x in a post-norm block changes no score of a row against another") {
  const auto x = variables("x", 1, 2), other = variables("y", 1, 2), shift = variables("d", 1, 2);
  const auto query = variables("q", 2, 2), key = variables("k", 2, 2), bias = variables("b", 1, 2);
  const auto moved = (x + shift) * query * transpose((other + shift) * key);
  const auto before = (x * query + shift * query) * transpose(other * key + bias);
  const auto change = (moved - before)(0);
  for (const auto* name : {"y11", "y12"}) CHECK_FALSE(change.depends_on(name));
  CHECK(change.depends_on("x11"));
}
