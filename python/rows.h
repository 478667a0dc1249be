// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <tuple>
#include <vector>

#include "kappascope/store/run_reader.h"

namespace kappascope {

using Names = std::vector<std::string>;
/// Of scalars, one after the other: name, layer, status, and [n, 6] step, value, lower, upper,
/// rows, effective rows; NaN where there is none.
using Rows = std::tuple<Names, Names, Names, at::Tensor>;

Rows rows_of(const std::vector<store::StepValue>& points);

}  // namespace kappascope
