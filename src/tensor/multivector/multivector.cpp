// SPDX-License-Identifier: Apache-2.0
#include "tensor/multivector/multivector.h"

#include <ATen/Parallel.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "tensor/multivector/columns.h"
#include "tensor/packed.h"
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
/// Each begins with a block of packed columns.
template <typename Work>
void by_pieces(std::int64_t length, std::int64_t piece, const Work& work) {
  const auto workers = worker_count(length);
  parallel_tasks(workers, [&](std::int64_t worker) {
    const auto begin_of = [&](std::int64_t who) {
      return who == workers ? length : who * length / workers / kPackedBlock * kPackedBlock;
    };
    const auto end = begin_of(worker + 1);
    for (auto first = begin_of(worker); first < end; first += piece)
      work(worker, first, std::min(piece, end - first));
  });
}

template <typename Column>
std::vector<Column> columns_of(Multivector columns, std::int64_t length) {
  std::vector<Column> all;
  all.reserve(columns.size());
  for (const auto& column : columns) all.emplace_back(column, length);
  return all;
}

/// work<what the column is to these kernels>()
template <typename Work>
auto with_type(const at::Tensor& column, const Work& work) {
  if (column.scalar_type() == at::kDouble) return work.template operator()<PlainColumn<double>>();
  if (column.scalar_type() == at::kShort) return work.template operator()<PackedColumn>();
  return work.template operator()<PlainColumn<float>>();
}

/// w -= Σ c_i column_i where there is a c, then the products asked for: of all columns with w, or
/// (last entry) of w with itself.
template <typename Column>
Eigen::VectorXd host_pass(Multivector columns,
                          const Eigen::VectorXd* c,
                          bool project,
                          const at::Tensor& w) {
  const auto all = columns_of<Column>(columns, w.numel());
  auto* at = w.mutable_data_ptr<double>();
  const Eigen::Index sums = project ? std::ssize(all) : 1;
  Eigen::MatrixXd found = Eigen::MatrixXd::Zero(sums, worker_count(w.numel()));
  by_pieces(w.numel(), kPass, [&](std::int64_t worker, std::int64_t first, std::int64_t n) {
    double* to = at + first;
    for (std::size_t i = 0; c != nullptr && i < all.size(); ++i) {
      const double factor = (*c)[static_cast<Eigen::Index>(i)];
      if (factor != 0) all[i].axpy(-factor, first, n, to);
    }
    if (!project) found(0, worker) += dot<double>(to, to, n);
    for (Eigen::Index i = 0; project && i < sums; ++i)
      found(i, worker) += all[static_cast<std::size_t>(i)].dot(first, n, to);
  });
  return found.rowwise().sum();
}

Eigen::VectorXd pass(Multivector columns,
                     const Eigen::VectorXd* c,
                     bool project,
                     const at::Tensor& w) {
  if (columns.empty()) return host_pass<PlainColumn<float>>(columns, c, project, w);
  return with_type(columns.front(),
                   [&]<typename Column>() { return host_pass<Column>(columns, c, project, w); });
}

template <typename Column>
void host_combine(Multivector columns, const Eigen::MatrixXd& y) {
  // Packed columns to the end of their last block, which is zeros.
  const auto stored = columns.front().numel();
  const auto length =
      std::is_same_v<Column, PackedColumn> ? stored / packed_length(1) * kPackedBlock : stored;
  const auto all = columns_of<Column>(columns, length);
  by_pieces(length, kCombined, [&](std::int64_t /*worker*/, std::int64_t first, std::int64_t n) {
    Eigen::MatrixXd piece(n, y.rows());
    for (Eigen::Index i = 0; i < y.rows(); ++i)
      all[static_cast<std::size_t>(i)].read(first, n, piece.col(i).data());
    const Eigen::MatrixXd combined = piece * y;
    for (Eigen::Index i = 0; i < y.cols(); ++i)
      all[static_cast<std::size_t>(i)].write(1, combined.col(i).data(), first, n);
  });
}

template <typename Column>
void host_store(double factor, const at::Tensor& w, const at::Tensor& column) {
  const auto* from = w.const_data_ptr<double>();
  const Column to(column, w.numel());
  by_pieces(w.numel(), kPass, [&](std::int64_t /*worker*/, std::int64_t first, std::int64_t n) {
    to.write(factor, from + first, first, n);
  });
}

class HostKernels final : public MultivectorKernels {
 public:
  [[nodiscard]] bool take_packed() const override { return true; }
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
    with_type(columns.front(), [&]<typename Column>() { host_combine<Column>(columns, y); });
  }
  void store(double factor, const at::Tensor& w, const at::Tensor& column) const override {
    with_type(column, [&]<typename Column>() { host_store<Column>(factor, w, column); });
  }
};

}  // namespace

at::Tensor unpacked(const at::Tensor& column, std::int64_t n) {
  auto whole = torch::empty({n}, torch::kFloat);
  auto* to = whole.mutable_data_ptr<float>();
  const PackedColumn packed(column, n);
  by_pieces(n, kPass, [&](std::int64_t /*worker*/, std::int64_t first, std::int64_t count) {
    packed.read(first, count, to + first);
  });
  return whole;
}

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
