// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "theory/exact/matrix.h"

namespace kappascope::theory {

/// Eigenvalues, ascending, of a symmetric matrix in floating point.
std::vector<double> eigenvalues(const Matrix<double>& symmetric);

struct EigenBasis {
  Vector<double> values;   ///< ascending
  Matrix<double> vectors;  ///< a column each
};
EigenBasis eigen_basis(const Matrix<double>& symmetric);

}  // namespace kappascope::theory
