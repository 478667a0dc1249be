// SPDX-License-Identifier: Apache-2.0
// One Hessian-vector product with the graph kept, against one gradient of the same loss.
#include <torch/torch.h>

#include <memory>

#include "compare.h"
#include "kappascope/curvature/operators.h"
#include "models.h"

using namespace kappascope;

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (const std::string name : {"lm", "mlp"}) {
    const auto problem = benchmarks::problem(name);
    const std::shared_ptr<curvature::CurvatureOperator> hessian =
        curvature::hessian(problem.loss, curvature::select_parameters(*problem.model));
    const auto v = torch::randn({hessian->size()});
    benchmarks::compare(
        "curvature/" + name,
        /*turns=*/2,
        /*in_a_row=*/3,
        [problem] { torch::autograd::grad({problem.loss()}, problem.model->parameters()); },
        [hessian, v] { benchmark::DoNotOptimize(hessian->apply(v).const_data_ptr<float>()); });
  }
  benchmark::RunSpecifiedBenchmarks();
}
