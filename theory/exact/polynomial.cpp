// SPDX-License-Identifier: Apache-2.0
#include "theory/exact/polynomial.h"

#include <algorithm>
#include <cassert>

namespace kappascope::theory {
namespace {

std::size_t columns(const PolynomialMatrix& a) {
  return a.empty() ? 0 : a.front().size();
}

PolynomialMatrix zero(std::size_t rows, std::size_t cols) {
  return PolynomialMatrix(rows, std::vector<Polynomial>(cols));
}

PolynomialMatrix minor_of(const PolynomialMatrix& a, std::size_t row, std::size_t column) {
  PolynomialMatrix out;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (i == row) continue;
    out.emplace_back();
    for (std::size_t j = 0; j < a.size(); ++j) {
      if (j != column) out.back().push_back(a[i][j]);
    }
  }
  return out;
}

}  // namespace

Polynomial::Polynomial(const Rational& value) {
  if (value != 0) terms_[{}] = value;
}

Polynomial Polynomial::variable(const std::string& name) {
  Polynomial out;
  out.terms_[{{name, 1}}] = 1;
  return out;
}

Polynomial& Polynomial::operator+=(const Polynomial& other) {
  for (const auto& [monomial, coefficient] : other.terms_) {
    auto& sum = terms_[monomial];
    sum += coefficient;
    if (sum == 0) terms_.erase(monomial);
  }
  return *this;
}

Polynomial& Polynomial::operator-=(const Polynomial& other) {
  return *this += Polynomial(-1) * other;
}

Polynomial operator*(const Polynomial& a, const Polynomial& b) {
  Polynomial out;
  for (const auto& [left, x] : a.terms_) {
    for (const auto& [right, y] : b.terms_) {
      auto monomial = left;
      for (const auto& [name, exponent] : right) monomial[name] += exponent;
      Polynomial term;
      term.terms_[monomial] = x * y;
      out += term;
    }
  }
  return out;
}

bool Polynomial::depends_on(const std::string& name) const {
  return std::ranges::any_of(terms_, [&](const auto& term) { return term.first.contains(name); });
}

PolynomialMatrix variables(const std::string& name, int rows, int cols) {
  PolynomialMatrix out;
  for (int i = 1; i <= rows; ++i) {
    out.emplace_back();
    for (int j = 1; j <= cols; ++j) {
      out.back().push_back(Polynomial::variable(name + std::to_string(i) + std::to_string(j)));
    }
  }
  return out;
}

PolynomialMatrix symmetric_variables(const std::string& name, int size) {
  auto out = variables(name, size, size);
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) out[i][j] = out[j][i];
  }
  return out;
}

PolynomialMatrix identity(int size) {
  auto out = zero(static_cast<std::size_t>(size), static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < out.size(); ++i) out[i][i] = 1;
  return out;
}

PolynomialMatrix operator+(PolynomialMatrix a, const PolynomialMatrix& b) {
  assert(a.size() == b.size() && columns(a) == columns(b));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < columns(a); ++j) a[i][j] += b[i][j];
  }
  return a;
}

PolynomialMatrix operator-(PolynomialMatrix a, const PolynomialMatrix& b) {
  return std::move(a) + Polynomial(-1) * b;
}

PolynomialMatrix operator*(const PolynomialMatrix& a, const PolynomialMatrix& b) {
  assert(columns(a) == b.size());
  auto out = zero(a.size(), columns(b));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < columns(b); ++j) {
      for (std::size_t k = 0; k < b.size(); ++k) out[i][j] += a[i][k] * b[k][j];
    }
  }
  return out;
}

PolynomialMatrix operator*(const Polynomial& factor, PolynomialMatrix a) {
  for (auto& row : a) {
    for (auto& entry : row) entry = factor * entry;
  }
  return a;
}

PolynomialMatrix transpose(const PolynomialMatrix& a) {
  auto out = zero(columns(a), a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < columns(a); ++j) out[j][i] = a[i][j];
  }
  return out;
}

PolynomialMatrix blocks(const PolynomialMatrix& a,
                        const PolynomialMatrix& b,
                        const PolynomialMatrix& c,
                        const PolynomialMatrix& d) {
  PolynomialMatrix out;
  for (const auto& [left, right] : {std::pair{&a, &b}, std::pair{&c, &d}}) {
    assert(left->size() == right->size());
    for (std::size_t i = 0; i < left->size(); ++i) {
      out.push_back((*left)[i]);
      out.back().insert(out.back().end(), (*right)[i].begin(), (*right)[i].end());
    }
  }
  return out;
}

Polynomial determinant(const PolynomialMatrix& a) {
  if (a.empty()) return 1;
  Polynomial sum;
  for (std::size_t j = 0; j < a.size(); ++j) {
    const Polynomial term = a[0][j] * determinant(minor_of(a, 0, j));
    if (j % 2 == 0) {
      sum += term;
    } else {
      sum -= term;
    }
  }
  return sum;
}

PolynomialMatrix adjugate(const PolynomialMatrix& a) {
  auto out = zero(a.size(), a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < a.size(); ++j) {
      const Polynomial minor = determinant(minor_of(a, i, j));
      out[j][i] = (i + j) % 2 == 0 ? minor : -minor;
    }
  }
  return out;
}

}  // namespace kappascope::theory
