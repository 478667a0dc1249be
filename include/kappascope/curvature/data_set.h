// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "kappascope/curvature/operators.h"

/// @file
/// The operators of operators.h over a whole data set that comes in batches. The loss over the data
/// set is the mean over all rows, so a batch weighs as many rows as it has:
///
///     C = Σ_i (n_i / N) C_i,   N = Σ_i n_i,
///
/// with C_i the operator of batch i, but for the gradient covariance, whose mean gradient is the
/// one of all N rows: Σ_i (n_i / N) F_i - ḡ ḡᵀ with Fisher matrices F_i. Sums are in double.
///
/// A product goes through all batches in order. Graphs are kept from the first batch on while they
/// fit into a bound on memory; the batches behind are evaluated again in each product.
namespace kappascope::curvature {

struct Batches {
  /// Batch i's mean loss, outputs or row losses, as the operator over one batch takes them. Must
  /// give the same batch whenever it is asked for i: a loader that shuffles is refused.
  std::function<at::Tensor(int64_t batch)> evaluate;
  /// Rows of each batch: its weight.
  std::vector<int64_t> rows;
};

struct DataSetOptions {
  /// Of each batch. With kGraphKept every graph is kept, whatever the bound. When determinism is
  /// checked, all batches are evaluated once more after all have been, which also finds a loader
  /// that shuffles at the end of a pass.
  OperatorOptions batch = {};
  /// For kAutomatic: bytes of all kept graphs, as LibTorch's allocator counts them.
  int64_t graph_bytes = int64_t{4} << 30;
};

/// Each throws as the operator over one batch does, naming the batch, and when there are no rows.
/// product_kind() is kGraphKept when all graphs are kept, and kRecomputed when some are not.
std::unique_ptr<CurvatureOperator> hessian(const Batches& loss,
                                           const NamedParameters& parameters,
                                           const DataSetOptions& options = {});
std::unique_ptr<CurvatureOperator> gauss_newton(const Batches& outputs,
                                                OutputLoss loss,
                                                const NamedParameters& parameters,
                                                const DataSetOptions& options = {});
std::unique_ptr<CurvatureOperator> empirical_fisher(const Batches& losses,
                                                    const NamedParameters& parameters,
                                                    const DataSetOptions& options = {});
/// Takes one gradient of the mean loss at once.
std::unique_ptr<CurvatureOperator> gradient_covariance(const Batches& losses,
                                                       const NamedParameters& parameters,
                                                       const DataSetOptions& options = {});

}  // namespace kappascope::curvature
