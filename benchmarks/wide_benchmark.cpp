// SPDX-License-Identifier: Apache-2.0
// Condition numbers of wide layers: seconds of the decomposition and of the factorisation on one
// thread, of the factorisation on all, and how far they agree. A table, not a Google Benchmark:
//     wide_benchmark WIDTH...        (on one thread up to 4,096)
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/types.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "kappascope/linalg/random.h"
#include "kappascope/tensor/kappa.h"
#include "tensor/convert.h"

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

/// LibTorch's eigensolver meets its threads at a barrier for every column of the matrix, and a
/// thread that waits for a core holds up all others: on a shared machine the decomposition takes up
/// to thirty times as long on two threads as on one. Both sides are therefore compared on one.
template <typename Work>
double seconds_on(int threads, const Work& work) {
  at::set_num_threads(threads);
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void measure(Eigen::Index d, int threads) {
  constexpr Eigen::Index kWidest = 4096;
  auto moments = moments_of(d);
  const Eigen::VectorXd bias = -0.5 * moments.mean;
  const auto b = tensor::from_vector(bias);
  linalg::KappaOptions decompose, factorise;
  decompose.factorise_from = d + 1;
  factorise.factorise_from = d;
  double decomposition = NAN, alone = NAN, kappa = NAN;
  if (d <= kWidest) {
    auto copy = moments;
    decomposition = seconds_on(
        1, [&] { kappa = tensor::kappa(std::move(copy), b, decompose).with_bias.value; });
    copy = moments;
    alone = seconds_on(1, [&] { tensor::kappa(std::move(copy), b, factorise); });
  }
  linalg::Conditioning wide;
  const double factorisation =
      seconds_on(threads, [&] { wide = tensor::kappa(std::move(moments), b, factorise); });
  const auto& found = wide.with_bias;
  fmt::print("{:6} {:14.2f} {:14.2f} {:14.2f} {:9} {:12.6g} {:12.1e} {:12.1e} {:12.1e}\n",
             d,
             decomposition,
             alone,
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
  const int threads = at::get_num_threads();
  fmt::print("{:>6} {:>14} {:>14} {:>14} {:>9} {:>12} {:>12} {:>12} {:>12}\n",
             "width",
             "decomposition",
             "factorisation",
             "all threads",
             "products",
             "kappa",
             "difference",
             "bound, top",
             "bound, low");
  try {
    for (int i = 1; i < argc; ++i) measure(std::strtol(argv[i], nullptr, 10), threads);
  } catch (const std::exception& error) {
    fmt::print(stderr, "wide_benchmark: error: {}\n", error.what());
    return 1;
  }
}
