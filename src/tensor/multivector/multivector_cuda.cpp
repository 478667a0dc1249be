// SPDX-License-Identifier: Apache-2.0
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/require.h"
#include "cuda/multivector.cuh"
#include "tensor/convert.h"
#include "tensor/multivector/multivector.h"

namespace kappascope::tensor {
namespace {

constexpr auto kMost = static_cast<std::size_t>(cuda::kMostColumns);

cuda::RealType type_of(const at::Tensor& column) {
  return column.scalar_type() == at::kDouble ? cuda::RealType::kDouble : cuda::RealType::kFloat;
}

/// At most kMost columns; factors is empty or has one for each.
cuda::Group group_of(Multivector columns, const Eigen::VectorXd& factors = {}) {
  cuda::Group group{};
  group.count = static_cast<int>(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    // Checks that the column is of the type that the kernel reads.
    group.columns[i] = columns[i].scalar_type() == at::kDouble
                           ? static_cast<void*>(columns[i].mutable_data_ptr<double>())
                           : static_cast<void*>(columns[i].mutable_data_ptr<float>());
    if (factors.size() > 0) group.factors[i] = factors[static_cast<Eigen::Index>(i)];
  }
  return group;
}

void check(cudaError_t status) {
  require(status == cudaSuccess,
          "a CUDA kernel on a multivector failed: {}",
          cudaGetErrorString(status));
}

/// cuda::pass; returns the sums, on the device.
at::Tensor pass(const cuda::Group& group,
                cuda::RealType type,
                bool subtract,
                cuda::Sums sums,
                const at::Tensor& w) {
  const c10::cuda::CUDAGuard guard(w.device());
  const int count = sums == cuda::Sums::kColumns ? group.count : sums == cuda::Sums::kSquare;
  const auto partial = torch::empty({cuda::partial_sums(w.numel(), count)}, w.options());
  const auto out = torch::empty({count}, w.options());
  check(cuda::pass(group,
                   type,
                   subtract,
                   sums,
                   w.mutable_data_ptr<double>(),
                   w.numel(),
                   partial.mutable_data_ptr<double>(),
                   out.mutable_data_ptr<double>(),
                   c10::cuda::getCurrentCUDAStream().stream()));
  return out;
}

/// Subtracts all but the columns of the last launch, which are returned with their factors.
cuda::Group subtract_first(Multivector columns, const Eigen::VectorXd& c, const at::Tensor& w) {
  std::size_t first = 0;
  const auto group = [&](std::size_t count) {
    return group_of(columns.subspan(first, count),
                    c.segment(static_cast<Eigen::Index>(first), static_cast<Eigen::Index>(count)));
  };
  for (; columns.size() - first > kMost; first += kMost)
    pass(group(kMost), type_of(columns.front()), true, cuda::Sums::kNone, w);
  return group(columns.size() - first);
}

class CudaKernels final : public MultivectorKernels {
 public:
  [[nodiscard]] Eigen::VectorXd dots(Multivector columns, const at::Tensor& w) const override {
    if (columns.empty()) return {};
    std::vector<at::Tensor> sums;
    for (std::size_t first = 0; first < columns.size(); first += kMost) {
      const auto some = columns.subspan(first, std::min(kMost, columns.size() - first));
      sums.push_back(pass(group_of(some), type_of(some.front()), false, cuda::Sums::kColumns, w));
    }
    return to_vector(torch::cat(sums));
  }
  [[nodiscard]] double norm(const at::Tensor& w) const override {
    const auto square = pass({}, cuda::RealType::kDouble, false, cuda::Sums::kSquare, w);
    return std::sqrt(square.item<double>());
  }
  double subtract(Multivector columns,
                  const Eigen::VectorXd& c,
                  const at::Tensor& w) const override {
    if (columns.empty()) return norm(w);
    const auto last = subtract_first(columns, c, w);
    const auto square = pass(last, type_of(columns.front()), true, cuda::Sums::kSquare, w);
    return std::sqrt(square.item<double>());
  }
  [[nodiscard]] Eigen::VectorXd subtract_dots(Multivector columns,
                                              const Eigen::VectorXd& c,
                                              const at::Tensor& w) const override {
    if (columns.empty()) return {};
    const auto last = subtract_first(columns, c, w);
    const auto type = type_of(columns.front());
    if (columns.size() <= kMost) return to_vector(pass(last, type, true, cuda::Sums::kColumns, w));
    pass(last, type, true, cuda::Sums::kNone, w);
    return dots(columns, w);
  }
  /// More columns than a launch takes go through LibTorch's operations.
  void combine(Multivector columns, const Eigen::MatrixXd& y) const override {
    if (columns.empty()) return;
    if (columns.size() > kMost) return MultivectorKernels::torch().combine(columns, y);
    const auto& first = columns.front();
    const c10::cuda::CUDAGuard guard(first.device());
    const auto factors = from_vector(y.reshaped()).to(first.device());
    check(cuda::combine(group_of(columns),
                        type_of(first),
                        factors.const_data_ptr<double>(),
                        static_cast<int>(y.cols()),
                        first.numel(),
                        c10::cuda::getCurrentCUDAStream().stream()));
  }
  void store(double factor, const at::Tensor& w, const at::Tensor& column) const override {
    const c10::cuda::CUDAGuard guard(w.device());
    auto group = group_of({&column, 1});
    check(cuda::store(factor,
                      w.const_data_ptr<double>(),
                      const_cast<void*>(group.columns[0]),
                      type_of(column),
                      w.numel(),
                      c10::cuda::getCurrentCUDAStream().stream()));
  }
};

}  // namespace

const MultivectorKernels& MultivectorKernels::cuda() {
  static const CudaKernels kernels;
  return kernels;
}

}  // namespace kappascope::tensor
