// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>

#include "kappascope/curvature/operators.h"
#include "kappascope/linalg/density.h"
#include "kappascope/linalg/lanczos.h"
#include "kappascope/linalg/trace.h"

/// @file
/// Of an operator that is shared_with() other processes, the vectors that go in and come out are
/// this process's parts, and every function is collective: each process calls it with the same
/// options and gets the same numbers.
namespace kappascope::curvature {

struct Eigenpairs {
  linalg::ExtremeEigenvalues found;
  at::Tensor vectors;  ///< [k, n] orthonormal rows in the order of the values, when asked for
};

/// Extreme eigenpairs as linalg::lanczos finds them, with the vectors on the device of the
/// parameters, in float32 where the parameters are no better, and all sums in double. By default
/// the five largest. `start`: start vectors, [n] or [s, n]; the sum of the last snapshot's vectors
/// is good. Memory: max_basis vectors of the parameters' size, or as many as fit into a third of
/// what is free there, but not fewer than the method needs; where less than half of them fit, on
/// the host, for parameters in float32 or less and a tolerance of 5e-4 or more, in 16 bits a
/// number, and the residuals are then measured by a product each. The result tells both. The random
/// state of LibTorch is left alone. Throws as linalg::lanczos does, and Error where these are more
/// than what is free.
Eigenpairs eigenpairs(const CurvatureOperator& op,
                      const linalg::LanczosOptions& options = {},
                      const at::Tensor& start = {});

/// vᵀ C v / vᵀ v, the curvature along v [size], in double: one product. Off by at most
/// product_noise() times C's norm. NaN for v = 0.
double curvature_along(const CurvatureOperator& op, const at::Tensor& v);

/// The spectral density as linalg::spectral_density estimates it, with the vectors there. `known`:
/// pairs of the same operator, with their vectors. Memory: max_vectors of the parameters' size, of
/// which the work vector is in double.
linalg::Density spectral_density(const CurvatureOperator& op,
                                 const linalg::DensityOptions& options = {},
                                 const Eigenpairs& known = {});

/// The operator of batch 0, 1, …, all of the same parameters.
using BatchOperator = std::function<std::unique_ptr<CurvatureOperator>(int batch)>;
/// The mean density over the distribution that the batches are drawn from, with a band that holds
/// the spread of batches and start vectors. One operator, and so one graph, lives at a time. Throws
/// when `batches` is below 1 or orders differ.
linalg::Density spectral_density(const BatchOperator& batch,
                                 int batches,
                                 const linalg::DensityOptions& options = {});

/// The trace as linalg::trace estimates it, with the vectors there. Memory: sketch + 2 vectors, or
/// max_vectors.
linalg::TraceEstimate trace(const CurvatureOperator& op, const linalg::TraceOptions& options = {});

}  // namespace kappascope::curvature
