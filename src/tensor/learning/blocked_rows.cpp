// SPDX-License-Identifier: Apache-2.0
#include "tensor/learning/blocked_rows.h"

#include <torch/types.h>

#include <algorithm>
#include <utility>

namespace kappascope::tensor {
namespace {

constexpr int64_t kPiece = 2 << 20;  // numbers of rows on the host
constexpr int64_t kFewestRows = 64;

}  // namespace

BlockedRows::BlockedRows(at::Tensor rows, linalg::Blocks blocks)
    : rows_(std::move(rows)),
      blocks_(std::move(blocks)),
      type_(rows_.scalar_type() == torch::kDouble ? torch::kDouble : torch::kFloat) {
  for (Eigen::Index b = 0; b < blocks_.count(); ++b) {
    auto sum = torch::zeros({dimension()}, rows_.options().dtype(torch::kDouble));
    for_each_piece(
        b, [&](int64_t, const at::Tensor& piece) { sum += piece.sum(0, false, torch::kDouble); });
    sums_.push_back(sum);
  }
}

at::Tensor BlockedRows::block(Eigen::Index b) const {
  return rows_.narrow(0, blocks_.begin(b), blocks_.rows(b)).to(type_);
}

void BlockedRows::for_each_piece(Eigen::Index b,
                                 const std::function<void(int64_t, const at::Tensor&)>& use) const {
  const auto block = rows_.narrow(0, blocks_.begin(b), blocks_.rows(b));
  const auto count = rows_.is_cpu() ? std::max(kFewestRows, kPiece / dimension()) : block.size(0);
  int64_t first = 0;
  for (const auto& piece : block.split(std::max<int64_t>(1, count))) {
    use(first, piece.to(type_));
    first += piece.size(0);
  }
}

at::Tensor BlockedRows::mean(Eigen::Index half, Eigen::Index left_out) const {
  auto total = torch::zeros_like(sums_.front());
  for (Eigen::Index b = half; b < blocks_.count(); b += 2)
    if (b != left_out) total += sum(b);
  return total / rows(half, left_out);
}

double BlockedRows::rows(Eigen::Index half, Eigen::Index left_out) const {
  Eigen::Index count = 0;
  for (Eigen::Index b = half; b < blocks_.count(); b += 2)
    if (b != left_out) count += blocks_.rows(b);
  return static_cast<double>(count);
}

at::Tensor BlockedRows::mean() const {
  return (mean(0) * rows(0) + mean(1) * rows(1)) / (rows(0) + rows(1));
}

at::Tensor BlockedRows::variance() const {
  auto total = torch::zeros_like(sums_.front());
  const auto centre = mean().to(type_);
  for (Eigen::Index b = 0; b < blocks_.count(); ++b)
    for_each_piece(b, [&](int64_t, const at::Tensor& piece) {
      total += (piece - centre).square_().sum(0, false, torch::kDouble);
    });
  return total / (rows(0) + rows(1));
}

}  // namespace kappascope::tensor
