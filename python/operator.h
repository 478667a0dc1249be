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
  /// Of kind "ggn": its name, or the number under which Python keeps it.
  const std::string& output_loss;
  const std::string& product;  // a ProductKind's name
  int64_t watcher = -1;        // whom Python tells of progress; -1: nobody
  const std::string& group;    // of c10d: the processes that ask together; "": this alone
  bool sharded = false;        // the parameters are sharded over them: shards() and gradient()
};

/// An option of that name as the library takes it. Throws Error where it does not fit.
int checked_int(int64_t value, const char* name);

/// The operator that a question is about; `group` is that of sharded parameters. Throws where a
/// name does not fit, and as curvature::hessian() and its kin do.
std::unique_ptr<curvature::CurvatureOperator> make_operator(const Given& given,
                                                            tensor::Group* group = nullptr);

/// The Hessian of a loss of sharded parameters, of these names.
std::unique_ptr<curvature::CurvatureOperator> sharded_hessian(
    int64_t source,
    const std::vector<std::string>& names,
    tensor::Group* group,
    const curvature::OperatorOptions& options = {});

/// In the place of a number of products: before the first one.
inline constexpr int64_t kSettingUp = -1;

/// Tells Python how far a call has come; false where it should end, in one of the processes that
/// share the operator's vectors (null: it has them alone) and so in all.
bool report_progress(int64_t watcher,
                     tensor::Group* group,
                     int64_t products,
                     const linalg::LanczosProgress& progress = {});

/// The operator, which tells Python of each product; one that Python ends throws.
std::unique_ptr<curvature::CurvatureOperator> watched(const curvature::CurvatureOperator& op,
                                                      int64_t watcher);

}  // namespace kappascope
