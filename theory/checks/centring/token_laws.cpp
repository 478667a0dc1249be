// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/centring/token_laws.h"

#include <fmt/format.h>

#include <utility>

#include "theory/exact/linalg.h"
#include "theory/tools/draws.h"

namespace kappascope::theory {
namespace {

/// The given values of one token with one feature, each equally probable, and unit weights.
TokenLaw scalar_law(const std::vector<Rational>& values) {
  TokenLaw law{{}, Matrix<Rational>::ones(1, 1), Matrix<Rational>::ones(1, 1)};
  const Rational each(std::size_t{1}, values.size());
  for (const auto& value : values) {
    law.outcomes.push_back({each, Matrix<Rational>{{value}}});
  }
  return law;
}

TokenLaw draw_law(int kind, Random& random) {
  const auto n = random.integer(1, 2), d = random.integer(1, 2), f = random.integer(1, 2);
  const auto values = kind == 0 ? 1 : random.integer(2, 3);
  TokenLaw law{{}, draw_matrix(d, f, 2, random), draw_matrix(d, f, 2, random)};
  Rational total = 0;
  for (std::int64_t i = 0; i < values; ++i) {
    law.outcomes.push_back({random.integer(1, 3), draw_matrix(n, d, 2, random)});
    total += law.outcomes.back().probability;
  }
  for (auto& outcome : law.outcomes) outcome.probability /= total;
  if (kind == 1) law = law.centred();
  if (kind == 2) law.up.set_zero();
  // A row orthogonal to the mean, so that W_u sends the mean to zero.
  const Matrix<Rational> mean = law.mean_row();
  if (kind == 3 && d == 2) {
    const Matrix<Rational> across{{mean(0, 1)}, {-mean(0, 0)}};
    law.up = across * Matrix<Rational>::ones(1, f);
  }
  return law;
}

}  // namespace

Matrix<Rational> TokenLaw::mean_row() const {
  Matrix<Rational> sum = Matrix<Rational>::zero(1, up.rows());
  for (const auto& outcome : outcomes) {
    const Matrix<Rational> row = outcome.x.sum_of_rows();
    sum += row * outcome.probability;
  }
  return sum / Rational(tokens());
}

TokenLaw TokenLaw::centred() const {
  TokenLaw law = *this;
  const Matrix<Rational> mean = mean_row();
  for (auto& outcome : law.outcomes) outcome.x = outcome.x.plus_row(-mean);
  return law;
}

Rational TokenLaw::expectation(
    const std::function<Rational(const Matrix<Rational>& x)>& value) const {
  Rational sum = 0;
  for (const auto& outcome : outcomes) sum += outcome.probability * value(outcome.x);
  return sum;
}

Sizes TokenLaw::sizes() const {
  return {
      {"n", tokens()}, {"d", up.rows()}, {"d_ff", up.cols()}, {"outcomes", std::ssize(outcomes)}};
}

std::string TokenLaw::text() const {
  std::string values, probabilities;
  for (const auto& outcome : outcomes) {
    values += (values.empty() ? "" : ", ") + theory::text(outcome.x);
    probabilities += (probabilities.empty() ? "" : ", ") + outcome.probability.text();
  }
  return fmt::format(
      "X in {{{}}} with probabilities {{{}}}, W_u = {}, W_g = {}", values, probabilities, up, gate);
}

std::vector<TokenLaw> token_laws(std::uint64_t seed, int draws) {
  std::vector<TokenLaw> laws{scalar_law({0}),
                             scalar_law({1}),
                             scalar_law({0, 1}),
                             scalar_law({0, -1}),
                             scalar_law({-1, 1}),
                             scalar_law({0, 2}),
                             scalar_law({0, -2}),
                             scalar_law({-1, 0, 1})};
  auto two_tokens = scalar_law({1});
  two_tokens.outcomes.front().x = Matrix<Rational>::ones(2, 1);
  laws.push_back(two_tokens);
  Random random(seed);
  for (int i = 0; i < draws; ++i) laws.push_back(draw_law(i % 8, random));
  return laws;
}

}  // namespace kappascope::theory
