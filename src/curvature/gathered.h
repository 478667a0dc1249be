// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>

#include "kappascope/tensor/group.h"

/// Numbers of the processes that hold parts of one vector. Each call is collective and gives the
/// same bits in each; without a group the process is alone.
namespace kappascope::curvature {

/// Each process's number, [processes].
Eigen::VectorXd gathered(double mine, tensor::Group* group);

/// The sums over the processes, entry by entry.
Eigen::VectorXd added_up(const Eigen::VectorXd& mine, tensor::Group* group);
double added_up(double mine, tensor::Group* group);

}  // namespace kappascope::curvature
