// SPDX-License-Identifier: Apache-2.0
#include "linalg/features/row_scale.h"

#include <algorithm>
#include <cmath>

namespace kappascope::linalg {

double row_scale(double largest) {
  constexpr int kSafe = 30;
  // A bias is multiplied too, and must stay finite.
  constexpr int kLargest = 900;
  if (!(largest > 0) || !std::isfinite(largest)) return 1;
  const int exponent = std::ilogb(largest);
  return std::abs(exponent) <= kSafe ? 1
                                     : std::ldexp(1.0, std::clamp(-exponent, -kLargest, kLargest));
}

Conditioning unscale(Conditioning result, double scale) {
  if (scale == 1) return result;
  // Twice, as the square of the scale may overflow.
  const auto divide = [&](double& number) { number = number / scale / scale; };
  // Matrices of unit diagonal do not change with the rows' scale.
  for (KappaEstimate* estimate : {&result.sigma, &result.second_moment, &result.with_bias}) {
    for (double* number : {&estimate->lambda_min,
                           &estimate->lambda_max,
                           &estimate->lambda_min_bound,
                           &estimate->lambda_max_bound,
                           &estimate->null_threshold})
      divide(*number);
  }
  divide(result.variance_along_mean);
  divide(result.average_variance);
  return result;
}

}  // namespace kappascope::linalg
