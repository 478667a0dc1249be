// SPDX-License-Identifier: Apache-2.0
// Numbers of a sample run, and what `kappascope spectrum` leaves in it.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kappascope/store/run.h"
#include "support/good_status.h"

namespace kappascope::reports::sample {

/// A number without an interval.
inline store::Scalar plain(const std::string& name, const std::string& layer, double value) {
  store::Scalar s;
  s.name = name;
  s.layer = layer;
  s.value = value;
  s.status = testing::good_status(name);
  return s;
}

inline store::Scalar scalar(const std::string& name,
                            const std::string& layer,
                            double value,
                            double spread,
                            store::Status status = store::Status::kOther) {
  store::Scalar s{.name = name,
                  .layer = layer,
                  .value = value,
                  .status = status == store::Status::kOther ? testing::good_status(name) : status};
  s.lower = value * (1 - spread);
  s.upper = value * (1 + spread);
  s.n = 60000;
  s.n_effective = 59200;
  return s;
}

/// What `kappascope spectrum --density --trace --batches 4 --interval 5%` leaves at the end: three
/// eigenvalues at each end, of which the last one's bound reaches across zero.
inline void add_stored_spectrum(store::Snapshot& out,
                                double sharpness,
                                int layers,
                                store::Status status = store::Status::kConverged) {
  const std::string prefix = "spectrum/hessian/*/";
  const auto number = [&](const std::string& name, double value) {
    out.scalars.push_back(plain(prefix + name, "", value));
  };
  const auto words = [&](const std::string& name, const std::string& text) {
    out.scalars.push_back({.name = prefix + name,
                           .value = std::numeric_limits<double>::quiet_NaN(),
                           .attributes = {{"text", text}}});
  };
  const std::vector<double> values = {
      60 * sharpness, 25 * sharpness, 9 * sharpness, -0.05, -0.8 * sharpness, -1.1 * sharpness};
  const std::vector<double> bounds = {1e-3, 1e-3, 0.4, 0.2, 0.02, 1e-3};
  const auto join = [](const std::vector<std::vector<double>>& rows) {
    std::vector<double> all;
    for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
    return all;
  };
  out.arrays.push_back({prefix + "eigenvalues", "", {3, 6}, join({values, bounds, bounds})});
  for (int l = 0; l < layers; ++l) {
    for (const char* part : {"up.weight", "down.weight", "down.bias"}) {
      const std::string layer = "blocks." + std::to_string(l) + "." + part;
      out.arrays.push_back({prefix + "share", layer, {1, 6}, std::vector(6, 1.0 / 3 / layers)});
    }
  }
  out.scalars.push_back(scalar(prefix + "lambda_1", "", values.front(), 1e-4, status));
  out.scalars.push_back(scalar(prefix + "lambda_min_1", "", values.back(), -1e-3, status));
  out.scalars.push_back({.name = prefix + "status",
                         .value = std::numeric_limits<double>::quiet_NaN(),
                         .status = status});
  words("product_kind", "graph kept");
  words("product_reason", "");
  words("product_type", "float");
  for (const auto& [name, value] : {std::pair{"checkpoint", 2001.0},
                                    {"rows", 1024},
                                    {"parameters", 669706},
                                    {"top", 3},
                                    {"tolerance", 1e-2},
                                    {"products", 34},
                                    {"seconds", 2.5},
                                    {"learning_rate", 2e-4},
                                    {"product_noise", 1e-6},
                                    {"outlier_count", 3.2},
                                    {"outlier_count_stderr", 0.4},
                                    {"batches_count", 4},
                                    {"batches_from_largest", 3},
                                    {"batches_rows", 256}})
    number(name, value);
  out.scalars.push_back(scalar(prefix + "leading", "", values[0] * 0.9, 0.05, "reached"));
  out.scalars.push_back(scalar(prefix + "trace", "", 300 * sharpness, 0.1));
  out.scalars.push_back(scalar(prefix + "negative_mass", "", 0.2, 0.5, "converged"));
  const auto scaled = [&](double factor) {
    auto copy = values;
    for (double& v : copy) v *= factor;
    return copy;
  };
  const auto zero = scaled(0), low = scaled(0.8), high = scaled(1.2);
  out.arrays.push_back({prefix + "batches",
                        "",
                        {10, 6},
                        join({scaled(1.1),
                              low,
                              high,
                              scaled(0.1),
                              zero,
                              low,
                              values,
                              low,
                              high,
                              std::vector(6, 0.9)})});
  std::vector<std::vector<double>> density(7);
  constexpr std::int64_t kPoints = 100;
  for (std::int64_t i = 0; i < kPoints; ++i) {
    const double x = sharpness * (-2 + 0.65 * static_cast<double>(i));
    const double y = std::exp(-x * x / 8) + 1e-5;
    const double share = 1 / (1 + std::exp(-x));
    const std::vector<double> rows = {x, y, y / 2, 2 * y, share, share * 0.9, (1 + share) / 2};
    for (std::size_t r = 0; r < 7; ++r) density[r].push_back(rows[r]);
  }
  out.arrays.push_back({prefix + "density", "", {7, kPoints}, join(density)});
  out.arrays.push_back(
      {prefix + "outliers", "", {2, 2}, {values[0], values[1], bounds[0], bounds[1]}});
}

}  // namespace kappascope::reports::sample
