// SPDX-License-Identifier: Apache-2.0
#include "kappascope/tensor/multivector.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "tensor/parallel.h"

namespace kappascope::tensor {
namespace {

// Elements of w that stay in cache while all columns pass by. Switching columns restarts the
// prefetcher: at 4,096 elements that cost half of the memory bandwidth.
constexpr std::int64_t kPass = 1 << 18;
// Elements of a combination: small, as all columns' are held in double at once.
constexpr std::int64_t kCombined = 4096;
// Elements for which another thread is worth waking.
constexpr std::int64_t kGrain = 4096;

std::int64_t worker_count(std::int64_t length) {
  const auto grains = std::max<std::int64_t>(1, (length + kGrain - 1) / kGrain);
  return std::min<std::int64_t>(grains, at::get_num_threads());
}

/// work(worker, first, n) for pieces of n <= piece elements, each worker's one after the other.
template <typename Work>
void by_pieces(std::int64_t length, std::int64_t piece, const Work& work) {
  const auto workers = worker_count(length);
  parallel_tasks(workers, [&](std::int64_t worker) {
    const auto end = (worker + 1) * length / workers;
    for (auto first = worker * length / workers; first < end; first += piece)
      work(worker, first, std::min(piece, end - first));
  });
}

template <typename T>
std::vector<T*> pointers(Multivector columns) {
  std::vector<T*> all;
  all.reserve(columns.size());
  for (const auto& column : columns) all.push_back(column.mutable_data_ptr<T>());
  return all;
}

/// Eight running sums, so that the loop goes several at a time without reordering one sum.
template <typename T>
double dot(const T* __restrict a, const double* __restrict w, std::int64_t n) {
  constexpr std::int64_t kLanes = 8;
  std::array<double, kLanes> sums{};
  const auto whole = n / kLanes * kLanes;
  for (std::int64_t j = 0; j < whole; j += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      sums[static_cast<std::size_t>(lane)] += static_cast<double>(a[j + lane]) * w[j + lane];
    }
  }
  double sum = 0;
  for (const double lane : sums) sum += lane;
  for (auto j = whole; j < n; ++j) sum += static_cast<double>(a[j]) * w[j];
  return sum;
}

template <typename T>
void axpy(double factor, const T* __restrict a, double* __restrict w, std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j) w[j] += factor * static_cast<double>(a[j]);
}

/// w -= Σ c_i column_i where there is a c, then the products asked for: of all columns with w, or
/// (last entry) of w with itself.
template <typename T>
Eigen::VectorXd host_pass(Multivector columns,
                          const Eigen::VectorXd* c,
                          bool project,
                          const at::Tensor& w) {
  const auto all = pointers<T>(columns);
  auto* at = w.mutable_data_ptr<double>();
  const Eigen::Index sums = project ? std::ssize(all) : 1;
  Eigen::MatrixXd found = Eigen::MatrixXd::Zero(sums, worker_count(w.numel()));
  by_pieces(w.numel(), kPass, [&](std::int64_t worker, std::int64_t first, std::int64_t n) {
    double* to = at + first;
    for (std::size_t i = 0; c != nullptr && i < all.size(); ++i) {
      const double factor = (*c)[static_cast<Eigen::Index>(i)];
      if (factor != 0) axpy(-factor, all[i] + first, to, n);
    }
    if (!project) found(0, worker) += dot(static_cast<const double*>(to), to, n);
    for (Eigen::Index i = 0; project && i < sums; ++i)
      found(i, worker) += dot(all[static_cast<std::size_t>(i)] + first, to, n);
  });
  return found.rowwise().sum();
}

Eigen::VectorXd pass(Multivector columns,
                     const Eigen::VectorXd* c,
                     bool project,
                     const at::Tensor& w) {
  const bool wide = !columns.empty() && columns.front().scalar_type() == at::kDouble;
  return wide ? host_pass<double>(columns, c, project, w)
              : host_pass<float>(columns, c, project, w);
}

template <typename T>
void host_combine(Multivector columns, const Eigen::MatrixXd& y) {
  const auto all = pointers<T>(columns);
  const auto length = columns.front().numel();
  by_pieces(length, kCombined, [&](std::int64_t /*worker*/, std::int64_t first, std::int64_t n) {
    using Values = Eigen::Matrix<T, Eigen::Dynamic, 1>;
    Eigen::MatrixXd piece(n, y.rows());
    for (Eigen::Index i = 0; i < y.rows(); ++i) {
      const T* from = all[static_cast<std::size_t>(i)] + first;
      piece.col(i) = Eigen::Map<const Values>(from, n).template cast<double>();
    }
    const Eigen::MatrixXd combined = piece * y;
    for (Eigen::Index i = 0; i < y.cols(); ++i) {
      T* to = all[static_cast<std::size_t>(i)] + first;
      Eigen::Map<Values>(to, n) = combined.col(i).template cast<T>();
    }
  });
}

template <typename T>
void host_store(double factor, const at::Tensor& w, const at::Tensor& column) {
  const auto* from = w.const_data_ptr<double>();
  auto* to = column.mutable_data_ptr<T>();
  by_pieces(w.numel(), kPass, [&](std::int64_t /*worker*/, std::int64_t first, std::int64_t n) {
    for (auto j = first; j < first + n; ++j) to[j] = static_cast<T>(factor * from[j]);
  });
}

bool in_double(const at::Tensor& column) {
  return column.scalar_type() == at::kDouble;
}

class HostKernels final : public MultivectorKernels {
 public:
  [[nodiscard]] Eigen::VectorXd dots(Multivector columns, const at::Tensor& w) const override {
    if (columns.empty()) return {};
    return pass(columns, nullptr, true, w);
  }
  [[nodiscard]] double norm(const at::Tensor& w) const override {
    return std::sqrt(pass({}, nullptr, false, w)[0]);
  }
  double subtract(Multivector columns,
                  const Eigen::VectorXd& c,
                  const at::Tensor& w) const override {
    return std::sqrt(pass(columns, &c, false, w)[0]);
  }
  [[nodiscard]] Eigen::VectorXd subtract_dots(Multivector columns,
                                              const Eigen::VectorXd& c,
                                              const at::Tensor& w) const override {
    if (columns.empty()) return {};
    return pass(columns, &c, true, w);
  }
  void combine(Multivector columns, const Eigen::MatrixXd& y) const override {
    if (columns.empty()) return;
    in_double(columns.front()) ? host_combine<double>(columns, y) : host_combine<float>(columns, y);
  }
  void store(double factor, const at::Tensor& w, const at::Tensor& column) const override {
    in_double(column) ? host_store<double>(factor, w, column)
                      : host_store<float>(factor, w, column);
  }
};

}  // namespace

const MultivectorKernels& MultivectorKernels::host() {
  static const HostKernels kernels;
  return kernels;
}

const MultivectorKernels& MultivectorKernels::on(const at::Device& device) {
  if (device.is_cpu()) return host();
#ifdef KAPPASCOPE_CUDA
  if (device.is_cuda()) return cuda();
#endif
  return torch();
}

}  // namespace kappascope::tensor
