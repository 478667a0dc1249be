// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "theory/tools/random.h"
#include "theory/tools/rational.h"

namespace kappascope::theory {

/// Whole numbers from -limit to limit.
inline Matrix<Rational> draw(Eigen::Index rows,
                             Eigen::Index cols,
                             std::int64_t limit,
                             Random& random) {
  return Matrix<Rational>::NullaryExpr(
      rows, cols, [&] { return Rational(random.integer(-limit, limit)); });
}

inline Vector<Rational> draw(Eigen::Index size, std::int64_t limit, Random& random) {
  return draw(size, 1, limit, random);
}

}  // namespace kappascope::theory
