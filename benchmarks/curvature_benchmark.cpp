// SPDX-License-Identifier: Apache-2.0
// One Hessian and one Gauss-Newton product with the graph kept, against one gradient of the same
// loss; the five top eigenpairs to 1e-3 with the vectors beside the parameters, against the
// products alone and against vectors of the host in double; and a density of 100 steps, with the
// basis kept and in ten vectors, against 100 products.
#include <torch/torch.h>

#include <memory>

#include "compare.h"
#include "kappascope/curvature/operators.h"
#include "kappascope/curvature/spectrum.h"
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
    const std::shared_ptr<curvature::CurvatureOperator> gauss_newton =
        curvature::gauss_newton(problem.outputs,
                                curvature::OutputLoss::kCrossEntropy,
                                curvature::select_parameters(*problem.model));
    benchmarks::compare(
        "gauss_newton/" + name,
        /*turns=*/2,
        /*in_a_row=*/3,
        [problem] { torch::autograd::grad({problem.loss()}, problem.model->parameters()); },
        [gauss_newton, v] {
          benchmark::DoNotOptimize(gauss_newton->apply(v).const_data_ptr<float>());
        });
    linalg::LanczosOptions options;
    options.which = linalg::SpectrumEnd::kLargest;
    const auto host = [hessian, options] {
      benchmark::DoNotOptimize(linalg::lanczos(curvature::as_linear(*hessian), options).products);
    };
    const auto here = [hessian, options] {
      benchmark::DoNotOptimize(curvature::eigenpairs(*hessian, options).found.products);
    };
    const int products = curvature::eigenpairs(*hessian, options).found.products;
    const auto bare = [hessian, v, products] {
      for (int i = 0; i < products; ++i)
        benchmark::DoNotOptimize(hessian->apply(v).const_data_ptr<float>());
    };
    benchmarks::compare("eigenpairs_bare/" + name, 1, 1, bare, here);
    benchmarks::compare("eigenpairs_host/" + name, 1, 1, host, here);
    const auto hundred = [hessian, v] {
      for (int i = 0; i < 100; ++i)
        benchmark::DoNotOptimize(hessian->apply(v).const_data_ptr<float>());
    };
    for (const int max_vectors : {0, 10}) {
      linalg::DensityOptions density;
      density.steps = 100;
      density.probes = 1;
      density.max_vectors = max_vectors;
      benchmarks::compare(
          (max_vectors == 0 ? "density/" : "density_bounded/") + name,
          /*turns=*/1,
          /*in_a_row=*/1,
          hundred,
          [hessian, density] {
            benchmark::DoNotOptimize(curvature::spectral_density(*hessian, density).trace);
          });
    }
  }
  benchmark::RunSpecifiedBenchmarks();
}
