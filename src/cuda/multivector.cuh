// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda/multivector_arithmetic.h"

/// The passes of a Krylov method over its vectors, on the device. All sums are in double and in an
/// order that the sizes alone decide: the same bits on every run and every device. Each piece of
/// kPiece elements has its sum, made from 256 threads' in a fixed tree, and the pieces' sums are
/// added in the same way; nothing is added atomically. A product goes through at most 16 + 12 +
/// n/2²⁰
/// + 13 roundings: a sum of n of them is off by at most (42 + n/2²⁰) · 2⁻⁵³ of the sum of
/// magnitudes, to first order.
///
/// All pointers but Group itself and what it holds are device memory of any alignment; columns
/// and w do not overlap. Nothing waits for the device. Each returns the launch's status.
namespace kappascope::cuda {

enum class RealType { kFloat, kDouble };

enum class Sums {
  kNone,
  kColumns,  ///< [group.count] column · w
  kSquare,   ///< [1] w · w
};

/// Doubles of room that sums over n elements need: `partial` of pass().
std::int64_t partial_sums(std::int64_t n, int sums);

/// First, with `subtract`, w -= Σ factors_i column_i (a column with the factor 0 is not read); then
/// the sums asked for, into `out`. One pass over w.
cudaError_t pass(const Group& group,
                 RealType type,
                 bool subtract,
                 Sums sums,
                 double* w,
                 std::int64_t n,
                 double* partial,
                 double* out,
                 cudaStream_t stream);

/// The first k columns become [columns] y, y: [count, k] by columns, k <= count. In place.
cudaError_t combine(
    const Group& group, RealType type, const double* y, int k, std::int64_t n, cudaStream_t stream);

/// column = factor · w, rounded to its type.
cudaError_t store(double factor,
                  const double* w,
                  void* column,
                  RealType type,
                  std::int64_t n,
                  cudaStream_t stream);

}  // namespace kappascope::cuda
