// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kappascope/curvature/operators.h"
#include "kappascope/linalg/lanczos.h"

namespace kappascope {

/// What every operator takes. `value` is a tensor with its graph: a scalar loss, outputs
/// [rows, classes], or losses [rows]; without it, Python's `source` is asked, batch by batch where
/// there are `rows`.
struct Given {
  std::optional<at::Tensor> value;
  int64_t source = 0;
  at::IntArrayRef rows;  // of each batch; none: one evaluation without a batch
  at::TensorList parameters;
  const std::vector<std::string>& names;
  const std::string& kind;
  const std::string& output_loss;  // of kind "ggn"
  const std::string& product;      // a ProductKind's name
  int64_t watcher = -1;            // whom Python tells of progress; -1: nobody
};

/// The operator that a question is about. Throws where a name does not fit, and as
/// curvature::hessian() and its kin do.
std::unique_ptr<curvature::CurvatureOperator> make_operator(const Given& given);

/// Tells Python how far a call has come; false where it should end.
bool tell(int64_t watcher, int64_t products, const linalg::LanczosProgress& progress = {});

/// The operator, which tells Python of each product; one that Python ends throws.
std::unique_ptr<curvature::CurvatureOperator> watched(const curvature::CurvatureOperator& op,
                                                      int64_t watcher);

}  // namespace kappascope
