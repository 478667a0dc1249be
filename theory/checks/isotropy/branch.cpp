// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/isotropy/branch.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/require.h"
#include "theory/exact/linalg.h"
#include "theory/tools/draws.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

bool any_centred(const BranchCase& one) {
  const Matrix<Rational> rows = one.centred();
  return std::any_of(rows.begin(), rows.end(), [](const auto& x) { return x != 0; });
}

BranchCase plain(std::string kind, Matrix<Rational> weights, Matrix<Rational> tokens) {
  const Index k = weights.rows();
  return {std::move(kind), std::move(weights), std::move(tokens), Vector<Rational>::ones(k), 0};
}

Matrix<Rational> one_to(Index n) {
  Matrix<Rational> column(n, 1);
  for (Index i = 0; i < n; ++i) column(i, 0) = i + 1;
  return column;
}

/// (1, ..., 0, ..., -1): what is left of the mean is nothing.
Matrix<Rational> slope(Index k) {
  Matrix<Rational> column = Matrix<Rational>::zero(k, 1);
  column(0, 0) = 1;
  column(k - 1, 0) = -1;
  return column;
}

BranchCase draw_case(Random& random, int kind) {
  const Index k = random.integer(2, 5), d = random.integer(1, 4), n = random.integer(2, 6);
  const auto weights = draw_matrix(k, d, 3, random), tokens = draw_matrix(n, d, 3, random);
  auto one = plain("generic", weights, tokens);
  switch (kind) {
    case 0:
      one.kind = "W_iso of rank one";
      one.weights = draw_rank_one(k, d, 3, random);
      break;
    case 1:
      one.kind = "tokens on a line";
      one.tokens = draw_rank_one(n, d, 3, random);
      break;
    case 2:
      one.kind = "tokens in one point";
      one.tokens = Matrix<Rational>::ones(n, 1) * draw_matrix(1, d, 3, random);
      break;
    case 3:
      one.kind = "gains";
      for (auto& gain : one.gain) gain = random.nonzero(-3, 3);
      break;
    case 4:
      one.epsilon = Rational(1) / random.integer(1, 100);
      break;
    default:
      break;
  }
  return one;
}

}  // namespace

Matrix<Rational> BranchCase::centred() const {
  Matrix<Rational> rows = tokens * weights.transpose();
  for (Index i = 0; i < rows.rows(); ++i) {
    const Rational mean = rows.row(i).sum() / dimension();
    for (Index j = 0; j < rows.cols(); ++j) rows(i, j) -= mean;
  }
  return rows;
}

Matrix<Rational> BranchCase::second_moment() const {
  const Index k = dimension();
  const Matrix<Rational> rows = centred();
  Matrix<Rational> sum = Matrix<Rational>::zero(k, k);
  for (Index i = 0; i < rows.rows(); ++i) {
    const Matrix<Rational> row = rows.row(i);
    const Rational length = row.dot(row) + k * epsilon;
    if (length == 0) continue;
    const Vector<Rational> scaled = row.transpose().cwise_product(gain);
    sum += scaled * scaled.transpose() * Rational(k / length);
  }
  return sum / Rational(rows.rows());
}

std::string BranchCase::text() const {
  return fmt::format("{}: k = {}, W_iso = {}, tokens {}", kind, dimension(), weights, tokens);
}

std::vector<BranchCase> branch_cases(std::uint64_t seed, int draws) {
  std::vector<BranchCase> cases;
  for (Index k = 2; k <= 5; ++k) {
    cases.push_back(plain("W_iso of rank one", slope(k), one_to(2)));
    cases.push_back(
        plain("generic", Matrix<Rational>::identity(k), one_to(k) * one_to(k).transpose()));
  }
  for (auto& one : even_cases()) cases.push_back(std::move(one));
  auto gains =
      plain("gains", Matrix<Rational>::identity(3), Matrix<Rational>{{1, -1, 0}, {0, 1, -1}});
  gains.gain(1) = gains.gain(2) = 2;
  cases.push_back(std::move(gains));
  Random random(seed);
  for (int i = 0; i < draws; ++i) {
    auto one = draw_case(random, i % 7);
    if (any_centred(one)) cases.push_back(std::move(one));
  }
  return cases;
}

std::vector<BranchCase> even_cases() {
  std::vector<BranchCase> cases;
  for (Index k = 2; k <= 5; ++k) {
    const Matrix<Rational> identity = Matrix<Rational>::identity(k);
    cases.push_back(plain("± every axis", identity, below(identity, -identity)));
  }
  return cases;
}

std::vector<BranchCase> concentrated_cases() {
  std::vector<BranchCase> cases;
  for (Index k = 2; k <= 5; ++k) {
    for (Index n = 2; n <= 4; ++n) {
      cases.push_back(plain("tokens on a ray", slope(k), one_to(n)));
      const Matrix<Rational> direction = one_to(k).transpose();
      cases.push_back(
          plain("tokens on a ray", Matrix<Rational>::identity(k), one_to(n) * direction));
    }
  }
  return cases;
}

Enclosure derived_isotropy(const BranchCase& one) {
  const Index k = one.dimension();
  return {Rational(1) / k, Rational(rank(one.centred())) / k};
}

Verdict check_isotropy(const IsotropyStatement& says, const std::vector<BranchCase>& cases) {
  Tally tally;
  for (const auto& one : cases) {
    const Matrix<Rational> moment = one.second_moment();
    const Rational trace = moment.trace();
    const Rational isotropy = trace * trace / (one.dimension() * moment.squared_norm());
    const Enclosure stated = says(one);
    tally.sizes({{"k", one.dimension()}, {"d", one.weights.cols()}, {"tokens", one.tokens.rows()}});
    tally.record(stated.lower <= isotropy && isotropy <= stated.upper, [&] {
      return Witness{fmt::format("{}: E zzᵀ = {}, (tr)²/(k tr²) = {}, the statement says {}",
                                 one,
                                 moment,
                                 isotropy,
                                 stated),
                     isotropy.to_double(),
                     stated.upper.to_double()};
    });
  }
  return tally.verdict("isotropy of the branch's outputs", "as stated, at most", "exact");
}

Verdict check_mean_cosine(const Rational& stated) {
  Tally tally;
  for (const auto& one : concentrated_cases()) {
    const Matrix<Rational> rows = one.centred();
    Rational sum = 0;
    for (Index i = 0; i < rows.rows(); ++i) {
      for (Index j = 0; j < rows.rows(); ++j) {
        const Matrix<Rational> a = rows.row(i), b = rows.row(j);
        const Rational product = a.dot(b);
        // Only then is the cosine the fraction ±1 (Cauchy and Schwarz).
        require(product * product == a.dot(a) * b.dot(b), "the tokens are not on one line");
        sum += product > 0 ? 1 : -1;
      }
    }
    const Rational mean = sum / (rows.rows() * rows.rows());
    tally.sizes({{"k", one.dimension()}, {"tokens", one.tokens.rows()}});
    tally.compare(mean, stated, [&] {
      return fmt::format("{}: mean cosine {}, the statement says {}", one, mean, stated);
    });
  }
  return tally.verdict("mean cosine of the branch's outputs", "as stated", "exact");
}

}  // namespace kappascope::theory
