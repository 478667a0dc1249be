// SPDX-License-Identifier: Apache-2.0
// Condition numbers of wide layers: seconds of the decomposition and of the factorisation, and how
// far they agree. A table, not a Google Benchmark:
//     wide_benchmark WIDTH...        (the decomposition up to 4,096)
#include <fmt/format.h>
#include <torch/torch.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "kappascope/linalg/features/kappa.h"
#include "kappascope/linalg/features/wide.h"
#include "kappascope/linalg/random.h"
#include "kappascope/tensor/convert.h"

using namespace kappascope;

namespace {

/// Moments as those of a trained layer are: variances over four decades, a few strong directions, a
/// mean of the size of the deviations, and 512 kept rows.
linalg::Moments moments_of(Eigen::Index d) {
  constexpr Eigen::Index kStrong = 32, kRows = 512;
  linalg::Random random(1);
  Eigen::VectorXd deviation(d);
  for (Eigen::Index i = 0; i < d; ++i) deviation(i) = std::pow(10, -2 * random.uniform());
  Eigen::MatrixXd strong(d, kStrong);
  for (Eigen::Index j = 0; j < kStrong; ++j)
    strong.col(j) =
        random.normal_vector(d).cwiseProduct(deviation) / (1.0 + static_cast<double>(j));
  linalg::Moments moments;
  moments.n = 8 * d;
  moments.n_effective = static_cast<double>(moments.n);
  moments.mean = random.normal_vector(d).cwiseProduct(deviation);
  moments.sample.resize(kRows, d);
  for (Eigen::Index i = 0; i < kRows; ++i) {
    moments.sample.row(i) = (moments.mean + deviation.cwiseProduct(random.normal_vector(d)) +
                             strong * random.normal_vector(kStrong))
                                .cast<float>();
  }
  moments.covariance.resize(d, d);
  moments.covariance.noalias() = strong * strong.transpose();
  moments.covariance.diagonal() += deviation.cwiseAbs2();
  return moments;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void measure(Eigen::Index d) {
  constexpr Eigen::Index kWidest = 4096;
  auto moments = moments_of(d);
  const Eigen::VectorXd bias = -0.5 * moments.mean;
  double decomposition = NAN, kappa = NAN;
  if (d <= kWidest) {
    const auto begin = std::chrono::steady_clock::now();
    linalg::KappaOptions options;
    options.eigenvalues = tensor::symmetric_eigenvalues;
    const auto eigen = tensor::symmetric_eigen(moments.covariance);
    kappa = linalg::conditioning(moments, bias, options, &eigen).with_bias.value;
    decomposition = seconds_since(begin);
  }
  const auto begin = std::chrono::steady_clock::now();
  linalg::WideOptions options;
  options.factor.cholesky = tensor::cholesky;
  const auto wide = linalg::wide_conditioning(std::move(moments), bias, options);
  const double factorisation = seconds_since(begin);
  const auto& found = wide.with_bias;
  fmt::print("{:6} {:14.2f} {:14.2f} {:9} {:12.6g} {:12.1e} {:12.1e} {:12.1e}\n",
             d,
             decomposition,
             factorisation,
             wide.products,
             found.value,
             std::abs(found.value / kappa - 1),
             found.lambda_max_bound / found.lambda_max,
             found.lambda_min_bound / found.lambda_min);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  fmt::print("{:>6} {:>14} {:>14} {:>9} {:>12} {:>12} {:>12} {:>12}\n",
             "width",
             "decomposition",
             "factorisation",
             "products",
             "kappa",
             "difference",
             "bound, top",
             "bound, low");
  try {
    for (int i = 1; i < argc; ++i) measure(std::strtol(argv[i], nullptr, 10));
  } catch (const std::exception& error) {
    fmt::print(stderr, "wide_benchmark: error: {}\n", error.what());
    return 1;
  }
}
