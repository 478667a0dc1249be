// SPDX-License-Identifier: Apache-2.0
#include "kappascope/tensor/columns.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "tensor/parallel.h"

namespace kappascope::tensor {
namespace {

// Elements of w that stay in a core's cache while all columns pass by.
constexpr std::int64_t kPiece = 4096;

/// work(worker, first, n) for pieces of n <= kPiece elements, each worker's one after the other.
template <typename Work>
void by_pieces(std::int64_t length, std::int64_t workers, const Work& work) {
  const auto pieces = (length + kPiece - 1) / kPiece;
  parallel_tasks(workers, [&](std::int64_t worker) {
    for (auto piece = worker * pieces / workers; piece < (worker + 1) * pieces / workers; ++piece)
      work(worker, piece * kPiece, std::min(kPiece, length - piece * kPiece));
  });
}

std::int64_t worker_count(std::int64_t length) {
  const auto pieces = std::max<std::int64_t>(1, (length + kPiece - 1) / kPiece);
  return std::min<std::int64_t>(pieces, at::get_num_threads());
}

template <typename T>
std::vector<T*> pointers(Columns columns) {
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
Eigen::VectorXd host_dots(Columns columns, const at::Tensor& w) {
  const auto all = pointers<T>(columns);
  const auto* at = w.const_data_ptr<double>();
  const auto workers = worker_count(w.numel());
  Eigen::MatrixXd sums = Eigen::MatrixXd::Zero(std::ssize(all), workers);
  by_pieces(w.numel(), workers, [&](std::int64_t worker, std::int64_t first, std::int64_t n) {
    for (std::size_t i = 0; i < all.size(); ++i)
      sums(static_cast<Eigen::Index>(i), worker) += dot(all[i] + first, at + first, n);
  });
  return sums.rowwise().sum();
}

template <typename T>
void host_subtract(Columns columns, const Eigen::VectorXd& c, const at::Tensor& w) {
  const auto all = pointers<T>(columns);
  auto* at = w.mutable_data_ptr<double>();
  by_pieces(w.numel(),
            worker_count(w.numel()),
            [&](std::int64_t /*worker*/, std::int64_t first, std::int64_t n) {
              double* __restrict to = at + first;
              for (std::size_t i = 0; i < all.size(); ++i) {
                const T* __restrict from = all[i] + first;
                const double factor = c[static_cast<Eigen::Index>(i)];
                for (std::int64_t j = 0; j < n; ++j) to[j] -= factor * static_cast<double>(from[j]);
              }
            });
}

template <typename T>
void host_combine(Columns columns, const Eigen::MatrixXd& y) {
  const auto all = pointers<T>(columns);
  const auto length = columns.front().numel();
  by_pieces(length,
            worker_count(length),
            [&](std::int64_t /*worker*/, std::int64_t first, std::int64_t n) {
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

bool on_host(Columns columns) {
  return columns.front().is_cpu();
}

bool in_double(Columns columns) {
  return columns.front().scalar_type() == at::kDouble;
}

}  // namespace

Eigen::VectorXd dots(Columns columns, const at::Tensor& w) {
  if (columns.empty()) return {};
  if (!on_host(columns)) return dots_anywhere(columns, w);
  return in_double(columns) ? host_dots<double>(columns, w) : host_dots<float>(columns, w);
}

void subtract(Columns columns, const Eigen::VectorXd& c, const at::Tensor& w) {
  if (columns.empty()) return;
  if (!on_host(columns)) return subtract_anywhere(columns, c, w);
  in_double(columns) ? host_subtract<double>(columns, c, w) : host_subtract<float>(columns, c, w);
}

void combine(Columns columns, const Eigen::MatrixXd& y) {
  if (columns.empty()) return;
  if (!on_host(columns)) return combine_anywhere(columns, y);
  in_double(columns) ? host_combine<double>(columns, y) : host_combine<float>(columns, y);
}

}  // namespace kappascope::tensor
