// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "theory/tools/random.h"
#include "theory/tools/rational.h"

namespace kappascope::theory {

/// A matrix of integers from -bound to bound.
Matrix<Rational> draw_matrix(Eigen::Index rows,
                             Eigen::Index cols,
                             std::int64_t bound,
                             Random& random);
Vector<Rational> draw_vector(Eigen::Index size, std::int64_t bound, Random& random);
/// The same, never zero.
Vector<Rational> draw_nonzero_vector(Eigen::Index size, std::int64_t bound, Random& random);

/// A column of integers, to write down a case by hand.
Vector<Rational> column(std::initializer_list<int> entries);
/// A row-major matrix of integers, likewise.
Matrix<Rational> rows(std::initializer_list<std::initializer_list<int>> entries);

}  // namespace kappascope::theory
