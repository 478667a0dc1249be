// SPDX-License-Identifier: Apache-2.0
// Numbers of a layer that have an interval over its sequences.
#pragma once

#include <torch/types.h>

#include <cmath>
#include <string>
#include <vector>

#include "kappascope/core/statistics.h"
#include "probes/scalars.h"

namespace kappascope::probes {

/// The mean of independent values, 95 % by Student's t where there are two. Those that are not
/// finite are left out; without any the mean is NaN. n: how many there are.
inline void add_mean(store::Snapshot& out,
                     const std::string& series,
                     const std::string& layer,
                     const at::Tensor& values) {
  const auto known = values.index({values.isfinite()});
  const auto n = static_cast<double>(known.numel());
  const double mean = known.mean().item<double>();
  if (n < 2) {
    add_scalar(out, series, layer, mean);
  } else {
    const double error = student_quantile(0.975, n - 1) * known.std().item<double>() / std::sqrt(n);
    add_scalar(out, series, layer, mean, mean - error, mean + error);
  }
  out.scalars.back().n = n;
}

/// The share of `hits` in `of`, [sequences] double each, with its interval where there are two
/// sequences; NaN without one.
inline void add_share(store::Snapshot& out,
                      const std::string& series,
                      const std::string& layer,
                      const at::Tensor& hits,
                      const at::Tensor& of) {
  const auto numbers = [](const at::Tensor& tensor) {
    const auto host = tensor.contiguous();
    const auto* first = host.const_data_ptr<double>();
    return std::vector<double>(first, first + host.numel());
  };
  const auto total = numbers(of);
  const auto found = clustered_share(numbers(hits), total);
  if (total.empty()) {
    add_scalar(out, series, layer, std::nan(""));
  } else if (total.size() < 2) {
    add_scalar(out, series, layer, found.share);
  } else {
    add_scalar(out, series, layer, found.share, found.interval.lower, found.interval.upper);
    out.scalars.back().n_effective = found.n_effective;
  }
}

}  // namespace kappascope::probes
