// SPDX-License-Identifier: Apache-2.0
// One Hessian and one Gauss-Newton product with the graph kept, against one gradient of the same
// loss; a product as an optimiser sees it, against a plain one; the five top eigenpairs to 1e-3
// with the vectors beside the parameters, against the products alone and against vectors of the
// host in double; and a density of 100 steps, with the basis kept and in ten vectors, against 100
// products.
#include <torch/autograd.h>
#include <torch/types.h>

#include <memory>
#include <string>

#include "compare.h"
#include "kappascope/curvature/operators.h"
#include "kappascope/curvature/spectrum.h"
#include "models.h"

using namespace kappascope;

namespace {

/// A model with what its benchmarks stand on, made by the first of them that runs.
class Bench {
 public:
  explicit Bench(std::string name) : name_(std::move(name)), problem_(benchmarks::problem(name_)) {}

  void gradient() const { torch::autograd::grad({problem_.loss()}, problem_.model->parameters()); }
  const curvature::CurvatureOperator& hessian() {
    if (hessian_ == nullptr) {
      hessian_ = curvature::hessian(problem_.loss, curvature::select_parameters(*problem_.model));
    }
    return *hessian_;
  }
  const curvature::CurvatureOperator& gauss_newton() {
    if (gauss_newton_ == nullptr) {
      gauss_newton_ = curvature::gauss_newton(problem_.outputs,
                                              curvature::OutputLoss::kCrossEntropy,
                                              curvature::select_parameters(*problem_.model));
    }
    return *gauss_newton_;
  }
  /// Of the five top eigenpairs.
  int products() {
    if (products_ == 0) products_ = eigenpairs();
    return products_;
  }
  int eigenpairs() { return curvature::eigenpairs(hessian()).found.products; }
  int host_eigenpairs() { return linalg::lanczos(curvature::as_linear(hessian())).products; }
  /// As Adam sees it, with second moments of all sizes.
  const curvature::CurvatureOperator& preconditioned() {
    if (preconditioned_ == nullptr)
      preconditioned_ = curvature::scaled(hessian(), torch::rand({hessian().size()}) + 0.1);
    return *preconditioned_;
  }
  void multiply(const curvature::CurvatureOperator& op, int times) {
    if (!v_.defined()) v_ = torch::randn({op.size()});
    for (int i = 0; i < times; ++i) benchmark::DoNotOptimize(op.apply(v_).const_data_ptr<float>());
  }
  void density(int max_vectors) {
    linalg::DensityOptions options;
    options.steps = 100;
    options.starts = 1;
    options.max_vectors = max_vectors;
    benchmark::DoNotOptimize(curvature::spectral_density(hessian(), options).trace);
  }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_;
  benchmarks::Problem problem_;
  std::unique_ptr<curvature::CurvatureOperator> hessian_, gauss_newton_, preconditioned_;
  int products_ = 0;
  at::Tensor v_;
};

void add(const std::shared_ptr<Bench>& b) {
  using benchmarks::compare;
  const auto prepare = [b] { b->hessian(); };
  const auto gradient = [b] { b->gradient(); };
  const auto eigenpairs = [b] { benchmark::DoNotOptimize(b->eigenpairs()); };
  const auto hundred = [b] { b->multiply(b->hessian(), 100); };
  compare(
      "curvature/" + b->name(), 2, 3, gradient, [b] { b->multiply(b->hessian(), 1); }, prepare);
  compare(
      "preconditioned/" + b->name(),
      2,
      2,
      [b] { b->multiply(b->hessian(), 1); },
      [b] { b->multiply(b->preconditioned(), 1); },
      [b] { b->preconditioned(); });
  compare(
      "gauss_newton/" + b->name(),
      2,
      3,
      gradient,
      [b] { b->multiply(b->gauss_newton(), 1); },
      [b] { b->gauss_newton(); });
  compare(
      "eigenpairs_bare/" + b->name(),
      1,
      1,
      [b] { b->multiply(b->hessian(), b->products()); },
      eigenpairs,
      [b] { b->products(); });
  compare(
      "eigenpairs_host/" + b->name(),
      1,
      1,
      [b] { benchmark::DoNotOptimize(b->host_eigenpairs()); },
      eigenpairs,
      prepare);
  compare(
      "density/" + b->name(), 1, 1, hundred, [b] { b->density(0); }, prepare);
  compare(
      "density_bounded/" + b->name(), 1, 1, hundred, [b] { b->density(10); }, prepare);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (const char* name : {"lm", "mlp"}) add(std::make_shared<Bench>(name));
  benchmark::RunSpecifiedBenchmarks();
}
