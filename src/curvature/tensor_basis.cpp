// SPDX-License-Identifier: Apache-2.0
#include "curvature/tensor_basis.h"

#include <torch/types.h>

#include "kappascope/linalg/random.h"
#include "linalg/krylov.h"
#include "tensor/convert.h"

namespace kappascope::curvature {

static_assert(linalg::KrylovBasis<TensorBasis>);

namespace {

bool is_wide(const CurvatureOperator& op) {
  return op.vectors().dtype() == torch::kDouble;
}

}  // namespace

bool TensorBasis::may_be_packed(const CurvatureOperator& op) {
  return !is_wide(op) && tensor::MultivectorKernels::on(op.vectors().device()).take_packed();
}

TensorBasis::TensorBasis(const CurvatureOperator& op, bool packed)
    : op_(op),
      group_(op.shared_with()),
      size_(static_cast<Eigen::Index>(added_up(static_cast<double>(op.size()), group_))),
      packed_(packed),
      work_(torch::zeros({op.size()}, op.vectors().dtype(torch::kDouble))),
      kernels_(tensor::MultivectorKernels::on(work_.device())) {}

void TensorBasis::random(std::uint64_t seed) {
  // Each process's part is a stream of its own: seeds of one generator, far apart.
  constexpr std::uint64_t kApart = 0xD1B54A32D192ED03U;
  const auto rank = static_cast<std::uint64_t>(group_ == nullptr ? 0 : group_->rank());
  work_.copy_(tensor::from_vector(linalg::Random(seed + rank * kApart).normal_vector(op_.size())));
}

void TensorBasis::multiply(Eigen::Index i) {
  const auto options = work_.options();
  work_.reset();
  work_ = op_.apply(full(i)).to(options, /*non_blocking=*/false, /*copy=*/true).contiguous();
}

double TensorBasis::dot(Eigen::Index i) const {
  return added_up(kernels_.dots(only(i), work_)[0], group_);
}

void TensorBasis::axpy(double factor, Eigen::Index i) {
  kernels_.subtract(only(i), Eigen::VectorXd::Constant(1, -factor), work_);
}

void TensorBasis::store(Eigen::Index i, double factor) {
  if (i == std::ssize(columns_)) {
    const auto type = packed_ ? torch::kShort : is_wide(op_) ? torch::kDouble : torch::kFloat;
    const auto length = packed_ ? tensor::packed_length(op_.size()) : op_.size();
    columns_.push_back(torch::empty({length}, op_.vectors().dtype(type)));
  }
  kernels_.store(factor, work_, column(i));
}

at::Tensor TensorBasis::take(Eigen::Index count) {
  columns_.resize(static_cast<std::size_t>(count));
  work_.reset();
  const auto type = is_wide(op_) ? torch::kDouble : torch::kFloat;
  auto taken = torch::empty({count, op_.size()}, op_.vectors().dtype(type));
  for (Eigen::Index i = 0; i < count; ++i) {
    taken[i].copy_(full(i));
    column(i).reset();
  }
  columns_.clear();
  return taken;
}

}  // namespace kappascope::curvature
