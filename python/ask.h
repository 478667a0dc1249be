// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Dict.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <tuple>

#include "python/operator.h"

namespace kappascope {

/// Numbers by the name of their field, all double and on the host but for eigenvectors; status;
/// products; which product ran; of eigenvalues in words what they are worth.
using Numbers = c10::Dict<std::string, at::Tensor>;
using Result = std::tuple<Numbers, std::string, int64_t, std::string, std::string>;

/// Answers a question about the operator that is given. In a group it is the mean of the processes'
/// operators, and every process gets the answer: process 0 works it out, and asks the others for
/// products; where parameters are sharded, all of them do. A failure is an Error in each.
Result ask(const Given& given,
           const std::function<Result(const curvature::CurvatureOperator&)>& answer);

}  // namespace kappascope
