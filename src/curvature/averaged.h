// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "kappascope/curvature/operators.h"
#include "kappascope/tensor/group.h"

namespace kappascope::curvature {

/// The mean of the operators that the processes of a group have, each of the loss on its part of
/// the data: the curvature of the mean of these losses. Process 0 has it; the others serve() until
/// its object is gone. A product costs one of each process at the same time, and two vectors on the
/// way. Its noise is the largest of theirs. `mine` and `group` must outlive it. Throws Error in
/// every process when the operators differ in size or type.
std::unique_ptr<CurvatureOperator> averaged(const CurvatureOperator& mine, tensor::Group& group);

/// What the other processes do meanwhile. A product that fails here is NaN there.
void serve(const CurvatureOperator& mine, tensor::Group& group);

}  // namespace kappascope::curvature
