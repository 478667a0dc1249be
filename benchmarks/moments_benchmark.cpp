// SPDX-License-Identifier: Apache-2.0
// The symmetric moment update, float rows with double accumulation included, against the full
// product XᵀX through the same library.
#include <torch/types.h>

#include <memory>

#include "compare.h"
#include "kappascope/tensor/moments.h"

using namespace kappascope;

int main(int argc, char** argv) {
  constexpr int64_t kRows = 4096;
  benchmark::Initialize(&argc, argv);
  for (const int64_t d : {512, 2048}) {
    const auto x = torch::randn({kRows, d});
    auto product = torch::empty({d, d});
    // Each update merges the block before it into double.
    const auto moments = std::make_shared<tensor::MomentAccumulator>(d);
    moments->update(x);
    benchmarks::compare(
        "moments/" + std::to_string(d),
        /*turns=*/2,
        /*in_a_row=*/d > 1024 ? 3 : 30,
        [x, product]() mutable { at::mm_out(product, x.t(), x); },
        [x, moments] { moments->update(x); });
  }
  benchmark::RunSpecifiedBenchmarks();
}
