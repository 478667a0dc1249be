// SPDX-License-Identifier: Apache-2.0
#include "tensor/lower_triangle.h"

#include <torch/torch.h>

#include <algorithm>

#include "tensor/parallel.h"

namespace kappascope::tensor {
namespace {

// Narrower strips multiply less above the diagonal, wider ones multiply faster.
constexpr int64_t kStripWidth = 64;
constexpr int64_t kMostStrips = 16;

// Rows r and d - 1 - r of a triangle are the same work for every r.
void add_on_host(const at::Tensor& from, const at::Tensor& to) {
  const auto d = to.size(0);
  const float* in = from.const_data_ptr<float>();
  double* out = to.mutable_data_ptr<double>();
  const auto add_row = [&](int64_t row) {
    const float* __restrict source = in + row * d;
    double* __restrict sum = out + row * d;
    for (int64_t j = 0; j <= row; ++j) sum[j] += static_cast<double>(source[j]);
  };
  parallel_tasks((d + 1) / 2, [&](int64_t row) {
    add_row(row);
    if (row != d - 1 - row) add_row(d - 1 - row);
  });
}

}  // namespace

LowerTriangle::LowerTriangle(std::int64_t dimension) {
  // An even number, so that strips i and strips - 1 - i make equal work of every pair.
  const auto strips =
      dimension < 2 * kStripWidth ? 1 : std::min(dimension / kStripWidth, kMostStrips) / 2 * 2;
  for (int64_t i = 1; i <= strips; ++i) ends_.push_back(dimension * i / strips);
}

void LowerTriangle::multiply_strip(std::int64_t i,
                                   const at::Tensor& centred,
                                   double scale,
                                   const at::Tensor& out) const {
  const auto rows = end(i) - begin(i);
  out.narrow(0, begin(i), rows)
      .narrow(1, 0, end(i))
      .addmm_(centred.t().narrow(0, begin(i), rows), centred.narrow(1, 0, end(i)), scale);
}

void LowerTriangle::add_product(const at::Tensor& centred,
                                double scale,
                                const at::Tensor& out) const {
  for (int64_t i = 0; i < strips(); ++i) multiply_strip(i, centred, scale, out);
}

void LowerTriangle::add_pair(std::int64_t pair,
                             const at::Tensor& centred,
                             double scale,
                             const at::Tensor& out) const {
  multiply_strip(pair, centred, scale, out);
  if (pair != strips() - 1 - pair) multiply_strip(strips() - 1 - pair, centred, scale, out);
}

void LowerTriangle::add(const at::Tensor& from, const at::Tensor& to) const {
  if (to.is_cpu() && from.scalar_type() == torch::kFloat) {
    add_on_host(from, to);
    return;
  }
  for (int64_t i = 0; i < strips(); ++i) {
    const auto part = [&](const at::Tensor& whole) {
      return whole.narrow(0, begin(i), end(i) - begin(i)).narrow(1, 0, end(i));
    };
    part(to).add_(part(from));
  }
}

}  // namespace kappascope::tensor
