// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>

#include "kappascope/curvature/operators.h"
#include "kappascope/tensor/group.h"

namespace kappascope::curvature {

struct ShardedGradient {
  at::Tensor
      loss;  ///< this process's, a scalar; its graph, where it has one, tells the types on it
  at::Tensor gradient;  ///< [n] of this process's shards: of the mean of the processes' losses
};

/// The Hessian of the mean of the processes' losses with respect to parameters that are sharded
/// over the processes, as torch's fully_shard() does it. Its vectors are sharded alike: size() is
/// the number of entries that this process holds, which may be none, and shared_with() the group.
///
/// There the gradient comes from a backward pass that sums over processes and has no graph, so
/// products are central differences of it, two gradients each, with the step and the error of
/// CentralDifference, whose lengths go over the whole vector.
///
/// Every member is collective; what fails in one process alone leaves the others waiting until
/// their group gives up. `shards` are displaced in place and put back bit for bit: `gradient` must
/// take their values from there. `group` must outlive the operator; null: the process holds all.
/// Throws Error, in every process, when a loss is not finite or differs between two evaluations.
std::unique_ptr<CurvatureOperator> sharded_hessian(std::function<ShardedGradient()> gradient,
                                                   const NamedParameters& shards,
                                                   tensor::Group* group,
                                                   const OperatorOptions& options = {});

}  // namespace kappascope::curvature
