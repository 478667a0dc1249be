// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/offsets/vanishing_noise.h"

#include <fmt/format.h>

#include <cassert>
#include <string>
#include <vector>

#include "theory/checks/offsets/least_error.h"
#include "theory/exact/linalg.h"
#include "theory/tools/conditions.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

struct Direction {
  Matrix<Rational> sigma0;
  Vector<Rational> b_in;

  [[nodiscard]] std::string text() const {
    return fmt::format("Σ = ε{}, b_in = {}, b_out = 1", sigma0, b_in);
  }
};

std::vector<Direction> directions(std::uint64_t seed) {
  std::vector<Direction> all{{rows({{1}}), column({1})},
                             {rows({{1, 0}, {0, 1}}), column({1, 1})},
                             {rows({{1, 0}, {0, 2}}), column({1, 0})},
                             {rows({{1, 0}, {0, 2}}), column({1, 1})},
                             {rows({{1, 0}, {0, 0}}), column({1, 1})}};
  for (const auto& one : noisy_offsets(seed)) {
    if (one.offsets.in.dot(one.offsets.in) != 0) all.push_back({one.sigma(), one.offsets.in});
  }
  return all;
}

std::string map_text(const Vector<Rational>& z) {
  return text(z.transpose());
}

/// The entry by which the two sides are shown: the first that differs, or the first.
Index telling_entry(const Vector<Rational>& a, const Vector<Rational>& b) {
  for (Index i = 0; i < a.size(); ++i) {
    if (a(i) != b(i)) return i;
  }
  return 0;
}

Witness witness_of(const Direction& one,
                   const Vector<Rational>& limit,
                   const Vector<Rational>& stated) {
  const auto at = telling_entry(limit, stated);
  return {fmt::format("{}: Δ tends to {}, Lemma 1 has {}",
                      one,
                      map_text(limit),
                      map_text(published_limit(one.sigma0, one.b_in))),
          limit(at).to_double(),
          stated(at).to_double()};
}

}  // namespace

Vector<Rational> limit_of_solution(const Matrix<Rational>& sigma0, const Vector<Rational>& b_in) {
  const auto at = [&](const Rational& noise) { return shortest_solution(noise * sigma0, b_in); };
  const Vector<Rational> first = at(1), second = at(2);
  const auto entry = telling_entry(first, second);
  const bool moves = first(entry) != second(entry);
  // Without a pole every factor below is one: z does not depend on ε.
  const Rational pole =
      moves ? (2 * second(entry) - first(entry)) / (first(entry) - second(entry)) : Rational(0);
  const auto factor = [&](const Rational& noise) {
    return moves ? (1 + pole) / (noise + pole) : Rational(1);
  };
  for (Index extra = 0; extra < b_in.size() + 2; ++extra) {
    const Rational noise(extra + 2);
    [[maybe_unused]] const bool confirmed = at(noise) == first * factor(noise);
    assert(confirmed);
  }
  return first * factor(0);
}

Vector<Rational> published_limit(const Matrix<Rational>& /*sigma0*/, const Vector<Rational>& b_in) {
  return b_in / Rational(b_in.dot(b_in));
}

Vector<Rational> derived_limit(const Matrix<Rational>& sigma0, const Vector<Rational>& b_in) {
  Vector<Rational> w;
  if (const auto inner = solve(sigma0 * sigma0, b_in)) {
    w = (sigma0 * *inner).col(0);
  } else {
    const Matrix<Rational> kernel = null_basis(sigma0);
    w = kernel * solve(kernel.transpose() * kernel, kernel.transpose() * b_in).value();
  }
  return w / Rational(b_in.dot(w));
}

Verdict check_limit(const LimitFormula& states, std::uint64_t seed) {
  Tally tally;
  for (const auto& one : directions(seed)) {
    const auto limit = limit_of_solution(one.sigma0, one.b_in);
    const auto stated = states(one.sigma0, one.b_in);
    tally.sizes({{"n", one.b_in.size()}});
    tally.record(limit == stated, [&] { return witness_of(one, limit, stated); });
  }
  return tally.verdict("an entry of lim Δ", "as stated", "exact");
}

bool along_eigenvector(const Matrix<Rational>& sigma0, const Vector<Rational>& b_in) {
  return rank(beside(b_in, sigma0 * b_in)) == 1;
}

Verdict check_limit_condition(const LimitCondition& says, std::uint64_t seed) {
  Tally tally;
  BothSides sides;
  for (const auto& one : directions(seed)) {
    const auto limit = limit_of_solution(one.sigma0, one.b_in);
    const Vector<Rational> lemma = published_limit(one.sigma0, one.b_in);
    sides.see(limit == lemma);
    tally.sizes({{"n", one.b_in.size()}});
    tally.record((limit == lemma) == says(one.sigma0, one.b_in),
                 [&] { return witness_of(one, limit, lemma); });
  }
  return sides.demand(tally.verdict("an entry of lim Δ", "that of Lemma 1", "exact"));
}

}  // namespace kappascope::theory
