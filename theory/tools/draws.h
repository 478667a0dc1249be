// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "theory/exact/rational.h"
#include "theory/tools/random.h"

namespace kappascope::theory {

/// A matrix of integers from -bound to bound.
Matrix<Rational> draw_matrix(Index rows, Index cols, std::int64_t bound, Random& random);
/// Of rank one or zero: a drawn column times a drawn row.
Matrix<Rational> draw_rank_one(Index rows, Index cols, std::int64_t bound, Random& random);
Vector<Rational> draw_vector(Index size, std::int64_t bound, Random& random);
/// The same, never zero.
Vector<Rational> draw_nonzero_vector(Index size, std::int64_t bound, Random& random);

}  // namespace kappascope::theory
