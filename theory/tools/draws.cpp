// SPDX-License-Identifier: Apache-2.0
#include "theory/tools/draws.h"

#include <cassert>

namespace kappascope::theory {

Matrix<Rational> draw_matrix(Eigen::Index rows,
                             Eigen::Index cols,
                             std::int64_t bound,
                             Random& random) {
  Matrix<Rational> drawn(rows, cols);
  for (auto& entry : drawn.reshaped()) entry = random.integer(-bound, bound);
  return drawn;
}

Vector<Rational> draw_vector(Eigen::Index size, std::int64_t bound, Random& random) {
  return draw_matrix(size, 1, bound, random).col(0);
}

Vector<Rational> draw_nonzero_vector(Eigen::Index size, std::int64_t bound, Random& random) {
  Vector<Rational> drawn = draw_vector(size, bound, random);
  if (drawn == Vector<Rational>::Zero(size))
    drawn(random.integer(0, size - 1)) = random.nonzero(-bound, bound);
  return drawn;
}

Vector<Rational> column(std::initializer_list<int> entries) {
  Vector<Rational> made(static_cast<Eigen::Index>(entries.size()));
  Eigen::Index i = 0;
  for (const int entry : entries) made(i++) = entry;
  return made;
}

Matrix<Rational> rows(std::initializer_list<std::initializer_list<int>> entries) {
  assert(entries.size() > 0);
  Matrix<Rational> made(static_cast<Eigen::Index>(entries.size()),
                        static_cast<Eigen::Index>(entries.begin()->size()));
  Eigen::Index i = 0;
  for (const auto& row : entries) made.row(i++) = column(row).transpose();
  return made;
}

}  // namespace kappascope::theory
