// SPDX-License-Identifier: Apache-2.0
#include "tensor/lower_triangle.h"

#include <torch/types.h>

#include <algorithm>

#include "tensor/convert.h"
#include "tensor/parallel.h"

namespace kappascope::tensor {
namespace {

// Narrower strips multiply less above the diagonal, wider ones multiply faster.
constexpr int64_t kStripWidth = 64;
constexpr int64_t kMostStrips = 16;

}  // namespace

LowerTriangle::LowerTriangle(std::int64_t dimension) {
  // An even number, so that strips i and strips - 1 - i make equal work of every pair.
  const auto strips =
      dimension < 2 * kStripWidth ? 1 : std::min(dimension / kStripWidth, kMostStrips) / 2 * 2;
  offsets_.push_back(0);
  for (int64_t i = 0; i < strips; ++i) {
    ends_.push_back(dimension * (i + 1) / strips);
    offsets_.push_back(offsets_.back() + (end(i) - begin(i)) * end(i));
  }
}

at::Tensor LowerTriangle::zeros(const at::TensorOptions& options) const {
  return torch::zeros({offsets_.back()}, options);
}

at::Tensor LowerTriangle::strip(std::int64_t i, const at::Tensor& packed) const {
  return packed.narrow(0, offsets_[static_cast<std::size_t>(i)], (end(i) - begin(i)) * end(i))
      .view({end(i) - begin(i), end(i)});
}

void LowerTriangle::multiply_strip(std::int64_t i,
                                   const at::Tensor& centred,
                                   double scale,
                                   const at::Tensor& packed) const {
  strip(i, packed).addmm_(
      centred.t().narrow(0, begin(i), end(i) - begin(i)), centred.narrow(1, 0, end(i)), scale);
}

void LowerTriangle::add_product(const at::Tensor& centred,
                                double scale,
                                const at::Tensor& packed) const {
  for (int64_t i = 0; i < strips(); ++i) multiply_strip(i, centred, scale, packed);
}

void LowerTriangle::add_pair(std::int64_t pair,
                             const at::Tensor& centred,
                             double scale,
                             const at::Tensor& packed) const {
  multiply_strip(pair, centred, scale, packed);
  if (pair != strips() - 1 - pair) multiply_strip(strips() - 1 - pair, centred, scale, packed);
}

Eigen::MatrixXd LowerTriangle::unpack(const at::Tensor& packed) const {
  const auto host = packed.cpu();
  Eigen::MatrixXd matrix(ends_.back(), ends_.back());
  for (int64_t i = 0; i < strips(); ++i)
    matrix.block(begin(i), 0, end(i) - begin(i), end(i)) = to_matrix(strip(i, host));
  matrix.triangularView<Eigen::StrictlyUpper>() = matrix.transpose();
  return matrix;
}

at::Tensor LowerTriangle::pack(const Eigen::MatrixXd& lower,
                               const at::TensorOptions& options) const {
  Eigen::MatrixXd whole = lower;
  whole.triangularView<Eigen::StrictlyUpper>() = whole.transpose();
  // Eigen stores columns, and a symmetric matrix is its own transpose.
  const auto values =
      torch::from_blob(whole.data(), {whole.rows(), whole.cols()}, torch::dtype(torch::kDouble));
  auto packed = zeros(torch::dtype(torch::kDouble));
  for (int64_t i = 0; i < strips(); ++i)
    strip(i, packed).copy_(values.narrow(0, begin(i), end(i) - begin(i)).narrow(1, 0, end(i)));
  return packed.to(options);
}

void add_widened(const at::Tensor& from, const at::Tensor& to) {
  if (!to.is_cpu() || from.scalar_type() != torch::kFloat) {
    to.add_(from);
    return;
  }
  const auto* in = from.const_data_ptr<float>();
  auto* out = to.mutable_data_ptr<double>();
  constexpr int64_t kPiece = 1 << 14;
  parallel_tasks((to.numel() + kPiece - 1) / kPiece, [&](int64_t piece) {
    const auto first = piece * kPiece, count = std::min(kPiece, to.numel() - first);
    const float* __restrict source = in + first;
    double* __restrict sum = out + first;
    for (int64_t i = 0; i < count; ++i) sum[i] += static_cast<double>(source[i]);
  });
}

}  // namespace kappascope::tensor
