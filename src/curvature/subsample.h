// SPDX-License-Identifier: Apache-2.0
// What the two ways of sampling curvature over a data set share.
#pragma once

#include <ATen/core/Tensor.h>

#include <Eigen/Core>
#include <cstdint>

#include "kappascope/curvature/sampling.h"
#include "kappascope/curvature/spectrum.h"

namespace kappascope::curvature {

/// [rows] the numbers of the rows in a random order, by Fisher and Yates.
at::Tensor shuffled(int64_t rows, std::uint64_t seed);

/// What a graph over `rows` of `all` rows and products with it cost, in gradients of all rows.
double passes_of(int64_t rows, int64_t all, int products);

/// Mean of independent values, its standard error, and the 95 % reach of Student's t.
struct Mean {
  double value = 0, standard_error = 0, reach = 0;
};
Mean mean_of(const Eigen::ArrayXd& values);

/// The dot product, in double.
double dot_in_double(const at::Tensor& a, const at::Tensor& b);

/// Products so far, and their cost in gradients of the whole data set.
struct ProductCost {
  int64_t all = 0;  ///< rows of the data set
  int products = 0;
  double passes = 0;

  void add(int64_t rows, int more) {
    products += more;
    passes += passes_of(rows, all, more);
  }
};

/// One eigenproblem with its vectors; its cost is added.
Eigenpairs solve(const RowsOperator& op,
                 const at::Tensor& rows,
                 linalg::LanczosOptions options,
                 const at::Tensor& start,
                 ProductCost& cost);

}  // namespace kappascope::curvature
