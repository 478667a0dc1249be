// SPDX-License-Identifier: Apache-2.0
// One Hessian-vector product with the graph kept, against one gradient of the same loss.
#include <benchmark/benchmark.h>
#include <torch/torch.h>

#include "kappascope/curvature/operators.h"
#include "models.h"

using namespace kappascope;

namespace {

void gradient(benchmark::State& state, benchmarks::Problem (*make)()) {
  const auto problem = make();
  const auto parameters = problem.model->parameters();
  for (auto _ : state) {
    const auto grads = torch::autograd::grad({problem.loss()}, parameters);
    benchmark::DoNotOptimize(grads.data());
  }
}

void hessian_product(benchmark::State& state, benchmarks::Problem (*make)()) {
  const auto problem = make();
  const auto op = curvature::hessian(problem.loss, curvature::select_parameters(*problem.model));
  const auto v = torch::randn({op->size()});
  for (auto _ : state) benchmark::DoNotOptimize(op->apply(v).const_data_ptr<float>());
}

}  // namespace

BENCHMARK_CAPTURE(gradient, mlp, benchmarks::residual_mlp)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(hessian_product, mlp, benchmarks::residual_mlp)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gradient, lm, benchmarks::lm_stack)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(hessian_product, lm, benchmarks::lm_stack)->Unit(benchmark::kMillisecond);
BENCHMARK_MAIN();
