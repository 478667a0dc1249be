// SPDX-License-Identifier: Apache-2.0
#include "curvature/products/central_difference.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/require.h"
#include "curvature/gathered.h"
#include "curvature/products/displaced.h"
#include "curvature/products/evaluation.h"

namespace kappascope::curvature {

CentralDifference::CentralDifference(std::vector<at::Tensor> parameters,
                                     std::function<at::Tensor()> function,
                                     double roundoff,
                                     const std::vector<at::Tensor>& directions,
                                     tensor::Group* group)
    : parameters_(std::move(parameters)), function_(std::move(function)), group_(group) {
  double squares = 0;
  for (const auto& parameter : parameters_) squares += squared_length(parameter.detach());
  squares = added_up(squares, group_);
  choose_step(4 * std::cbrt(2 * roundoff) * (1 + std::sqrt(squares)), roundoff, directions);
}

double CentralDifference::length_of(const at::Tensor& tensor) const {
  return std::sqrt(added_up(squared_length(tensor), group_));
}

void CentralDifference::choose_step(double first,
                                    double roundoff,
                                    const std::vector<at::Tensor>& directions) {
  constexpr int kSteps = 12;
  // Where steps reach beyond what the function looks like here, differences fall as 1/h, and two of
  // them are apart by three quarters.
  constexpr double kAgree = 0.1;
  double least = std::numeric_limits<double>::infinity();
  bool moved = false;
  std::vector<at::Tensor> before;
  for (int i = 0; i < kSteps; ++i) {
    const double step = first * std::pow(4.0, -i);
    double apart = 0, largest = 0;
    std::vector<at::Tensor> now;
    now.reserve(directions.size());
    for (const auto& direction : directions) {
      now.push_back(difference(direction, step / length_of(direction)) / length_of(direction));
      largest = std::max(largest, length_of(now.back()));
    }
    // Steps that rounding swallows agree on zero, and tell nothing where longer ones gave more.
    if (largest == 0 && moved) break;
    moved |= largest > 0;
    for (std::size_t j = 0; j < before.size(); ++j) {
      // The larger of the two: a NaN stays one, and is no agreement.
      const double each = length_of(now[j] - before[j]);
      apart = each <= apart ? apart : each;
    }
    if (apart != 0) apart /= largest;
    if (!before.empty() && apart < least) {
      least = apart;
      // Between the two that agree: their larger one has the truncation, their smaller one the
      // rounding.
      step_ = 2 * step;
    } else if (least < kAgree) {
      break;
    }
    before = std::move(now);
  }
  require(std::isfinite(least), "no step of finite differences gives finite gradients");
  noise_ = 16 * roundoff + 2 * least;
}

at::Tensor CentralDifference::difference(const at::Tensor& v, double step) const {
  Displaced displaced(parameters_);
  displaced.move(v, step);
  const auto up = function_().to(torch::kDouble);
  displaced.move(v, -step);
  const auto down = function_().to(torch::kDouble);
  return (up - down) / (2 * step);
}

at::Tensor CentralDifference::along(const at::Tensor& v) const {
  const double length = length_of(v);
  // A direction of length zero, or one that is not finite, has no step.
  if (!(length > 0) || !std::isfinite(length))
    return function_().to(torch::kDouble) * 0 + (length == 0 ? 0.0 : length);
  return difference(v, step_ / length);
}

}  // namespace kappascope::curvature
