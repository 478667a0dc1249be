// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "kappascope/curvature/operators.h"
#include "kappascope/tensor/group.h"

namespace kappascope::curvature {

/// A function of the parameters that differences are to be taken of, and how exact it is.
struct Differenced {
  const NamedParameters& parameters;
  const at::Tensor& slope;         ///< [size], of `value`
  std::function<double()> value;   ///< at the parameters as they are
  double value_roundoff = 0;       ///< of the value's own type
  double roundoff = 0;             ///< of the coarsest type on its graph
  tensor::Group* group = nullptr;  ///< whose processes hold a part of each parameter
};

/// Throws Error, with its name, where a parameter has a slope and moving it does not move the
/// value: what the function takes in its place was computed before and kept (quantised weights, a
/// cast by hand), so that differences would have zeros in its rows and columns.
///
/// All parameters move at once along their slopes, by so much that each has the same part in the
/// change; where the parts do not add up to it, each half is looked at. On graphs of 16 bits, which
/// do not show so small a change, each parameter moves alone, by a 32nd of its length. A slope by
/// which it could then not change the value beyond rounding tells nothing, and is passed over.
/// Cost: 3 values where the parts add up, else some 3 a parameter; collective in a group.
void require_response(const Differenced& function);

}  // namespace kappascope::curvature
