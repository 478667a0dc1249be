// SPDX-License-Identifier: Apache-2.0
#include "curvature/tensor_basis.h"

#include <torch/types.h>

#include "kappascope/linalg/krylov.h"
#include "kappascope/linalg/random.h"
#include "kappascope/tensor/convert.h"

namespace kappascope::curvature {

static_assert(linalg::KrylovBasis<TensorBasis>);

TensorBasis::TensorBasis(const CurvatureOperator& op)
    : op_(op),
      work_(torch::zeros({op.size()}, op.vectors().dtype(torch::kDouble))),
      kernels_(tensor::MultivectorKernels::on(work_.device())) {}

void TensorBasis::random(std::uint64_t seed) {
  work_.copy_(tensor::from_vector(linalg::Random(seed).normal_vector(size())));
}

double TensorBasis::dot(Eigen::Index i) const {
  return kernels_.dots(only(i), work_)[0];
}

void TensorBasis::axpy(double factor, Eigen::Index i) {
  kernels_.subtract(only(i), Eigen::VectorXd::Constant(1, -factor), work_);
}

void TensorBasis::store(Eigen::Index i, double factor) {
  const bool wide = op_.vectors().dtype() == torch::kDouble;
  if (i == std::ssize(columns_))
    columns_.push_back(
        torch::empty({size()}, op_.vectors().dtype(wide ? torch::kDouble : torch::kFloat)));
  kernels_.store(factor, work_, column(i));
}

at::Tensor TensorBasis::columns(Eigen::Index count) const {
  const auto wanted = first(count);
  return torch::stack(std::vector<at::Tensor>(wanted.begin(), wanted.end()));
}

}  // namespace kappascope::curvature
