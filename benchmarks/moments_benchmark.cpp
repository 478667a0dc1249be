// SPDX-License-Identifier: Apache-2.0
// The symmetric moment update, float rows with double accumulation included, against the full
// product XᵀX through the same library.
#include <benchmark/benchmark.h>
#include <torch/torch.h>

#include "kappascope/tensor/moments.h"

using namespace kappascope;

namespace {

constexpr int64_t kRows = 4096;

void full_product(benchmark::State& state) {
  const auto x = torch::randn({kRows, state.range(0)});
  auto out = torch::empty({state.range(0), state.range(0)});
  for (auto _ : state) {
    at::mm_out(out, x.t(), x);
    benchmark::DoNotOptimize(out.const_data_ptr<float>());
  }
}

void moment_update(benchmark::State& state) {
  const auto x = torch::randn({kRows, state.range(0)});
  tensor::MomentAccumulator moments(state.range(0));
  moments.update(x);
  for (auto _ : state) moments.update(x);  // each update merges the block before it into double
}

}  // namespace

BENCHMARK(full_product)->Arg(512)->Arg(2048)->Unit(benchmark::kMillisecond);
BENCHMARK(moment_update)->Arg(512)->Arg(2048)->Unit(benchmark::kMillisecond);
BENCHMARK_MAIN();
