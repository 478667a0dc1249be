// SPDX-License-Identifier: Apache-2.0
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "tensor/convert.h"
#include "tensor/multivector/multivector.h"

namespace kappascope::tensor {
namespace {

// Widened at once: the room for it is columns · pieces doubles.
constexpr std::int64_t kPiece = 1 << 20;

std::int64_t length(Multivector columns) {
  return columns.empty() ? 0 : columns.front().numel();
}

/// [columns, n] in double, of the elements [first, first + n).
at::Tensor widened(Multivector columns, std::int64_t first, std::int64_t n) {
  std::vector<at::Tensor> parts;
  parts.reserve(columns.size());
  for (const auto& column : columns) parts.push_back(column.narrow(0, first, n));
  return torch::stack(parts).to(torch::kDouble);
}

template <typename Work>
void by_pieces(std::int64_t n, const Work& work) {
  const torch::NoGradGuard no_grad;
  for (std::int64_t first = 0; first < n; first += kPiece) work(first, std::min(kPiece, n - first));
}

class TorchKernels final : public MultivectorKernels {
 public:
  [[nodiscard]] Eigen::VectorXd dots(Multivector columns, const at::Tensor& w) const override {
    if (columns.empty()) return {};
    auto sums = torch::zeros({static_cast<std::int64_t>(columns.size())}, w.options());
    by_pieces(length(columns), [&](std::int64_t first, std::int64_t n) {
      sums += widened(columns, first, n).mv(w.narrow(0, first, n));
    });
    return to_vector(sums);
  }
  [[nodiscard]] double norm(const at::Tensor& w) const override {
    return w.dot(w).sqrt().item<double>();
  }
  double subtract(Multivector columns,
                  const Eigen::VectorXd& c,
                  const at::Tensor& w) const override {
    if (columns.empty()) return norm(w);
    const auto factors = from_vector(c).to(w.device());
    by_pieces(length(columns), [&](std::int64_t first, std::int64_t n) {
      w.narrow(0, first, n).sub_(widened(columns, first, n).t().mv(factors));
    });
    return norm(w);
  }
  [[nodiscard]] Eigen::VectorXd subtract_dots(Multivector columns,
                                              const Eigen::VectorXd& c,
                                              const at::Tensor& w) const override {
    subtract(columns, c, w);
    return dots(columns, w);
  }
  void combine(Multivector columns, const Eigen::MatrixXd& y) const override {
    if (columns.empty() || y.cols() == 0) return;
    const auto factors =
        from_vector(y.reshaped()).view({y.cols(), y.rows()}).to(columns.front().device());
    by_pieces(length(columns), [&](std::int64_t first, std::int64_t n) {
      const auto combined = factors.mm(widened(columns, first, n));
      for (std::int64_t i = 0; i < combined.size(0); ++i)
        columns[static_cast<std::size_t>(i)].narrow(0, first, n).copy_(combined[i]);
    });
  }
  void store(double factor, const at::Tensor& w, const at::Tensor& column) const override {
    column.copy_(w * factor);
  }
};

}  // namespace

const MultivectorKernels& MultivectorKernels::torch() {
  static const TorchKernels kernels;
  return kernels;
}

}  // namespace kappascope::tensor
