// SPDX-License-Identifier: Apache-2.0
// What the learning times of a layer cost, from its rows: seconds, also as a share of those of one
// product XᵀX of the rows, and memory beyond the rows. A table in Markdown:
//
//   learning_cost [WIDTH:ROWS...]        512:1024 3072:6144 14336:8192
#include <fmt/format.h>
#include <sys/resource.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "kappascope/tensor/learning.h"

namespace {

constexpr int kTimes = 3;
constexpr double kExponent = 1.5;

template <typename Work>
double least_seconds(const Work& work) {
  double least = HUGE_VAL;
  for (int i = 0; i < kTimes; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    least = std::min(least, taken.count());
  }
  return least;
}

double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// Gaussian, with a spectrum i^-1.5 and a mean of the size of the deviations.
at::Tensor rows_of(int64_t n, int64_t d) {
  torch::manual_seed(1);
  const auto deviations = torch::arange(1, d + 1).to(torch::kFloat).pow(-kExponent / 2);
  return torch::randn({n, d}).add_(1).mul_(deviations);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> sizes(argv + 1, argv + argc);
  if (sizes.empty()) sizes = {"512:1024", "3072:6144", "14336:8192"};
  fmt::print(
      "| width | rows | steps to 90 % | seconds | over XᵀX | MiB beyond the rows |\n"
      "|--:|--:|--:|--:|--:|--:|\n");
  for (const auto& size : sizes) {
    int64_t d = 0, n = 0;
    if (std::sscanf(size.c_str(), "%ld:%ld", &d, &n) != 2 || d < 1 || n < 8) {
      fmt::print(stderr, "learning_cost: error: {} is not WIDTH:ROWS\n", size);
      return 1;
    }
    const auto rows = rows_of(n, d);
    const auto bias = torch::full({d}, -0.1);
    kappascope::linalg::Learning found;
    const double before = peak_mib();
    const double seconds = least_seconds([&] { found = kappascope::tensor::learning(rows, bias); });
    const double beyond = peak_mib() - before;
    const double product = least_seconds([&] { rows.t().mm(rows); });
    const auto& steps = found.second_moment.ninety;
    fmt::print("| {} | {} | {:.3g} [{:.3g}, {:.3g}] | {:.3g} | {:.2g} | {:.0f} |\n",
               d,
               n,
               steps.value,
               steps.lower,
               steps.upper,
               seconds,
               seconds / product,
               beyond);
    std::fflush(stdout);
  }
}
