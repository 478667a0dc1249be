// SPDX-License-Identifier: Apache-2.0
#include "theory/tools/draws.h"

namespace kappascope::theory {

Matrix<Rational> draw_matrix(Index rows, Index cols, std::int64_t bound, Random& random) {
  Matrix<Rational> drawn(rows, cols);
  for (auto& entry : drawn) entry = random.integer(-bound, bound);
  return drawn;
}

Vector<Rational> draw_vector(Index size, std::int64_t bound, Random& random) {
  return draw_matrix(size, 1, bound, random).col(0);
}

Matrix<Rational> draw_rank_one(Index rows, Index cols, std::int64_t bound, Random& random) {
  const auto column = draw_vector(rows, bound, random), row = draw_vector(cols, bound, random);
  return column * row.transpose();
}

Vector<Rational> draw_nonzero_vector(Index size, std::int64_t bound, Random& random) {
  Vector<Rational> drawn = draw_vector(size, bound, random);
  if (drawn == Vector<Rational>::zero(size))
    drawn(random.integer(0, size - 1)) = random.nonzero(-bound, bound);
  return drawn;
}

}  // namespace kappascope::theory
