// SPDX-License-Identifier: Apache-2.0
#include "tensor/convert.h"

#include <torch/types.h>

#include <algorithm>

#include "core/require.h"

namespace kappascope::tensor {

Eigen::VectorXd to_vector(const at::Tensor& tensor) {
  const auto host = tensor.detach().to(torch::kCPU, torch::kDouble).reshape(-1).contiguous();
  return Eigen::Map<const Eigen::VectorXd>(host.const_data_ptr<double>(), host.numel());
}

Eigen::MatrixXd to_matrix(const at::Tensor& tensor) {
  require(tensor.dim() == 2, "expected a matrix, got a tensor of {} dimensions", tensor.dim());
  const auto host = tensor.detach().to(torch::kCPU, torch::kDouble).contiguous();
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  return Eigen::Map<const RowMajor>(host.const_data_ptr<double>(), host.size(0), host.size(1));
}

at::Tensor from_vector(const Eigen::VectorXd& vector) {
  auto tensor = torch::empty({vector.size()}, torch::kDouble);
  Eigen::Map<Eigen::VectorXd>(tensor.mutable_data_ptr<double>(), vector.size()) = vector;
  return tensor;
}

namespace {

// A symmetric matrix reads the same by rows and by columns, so Eigen's layout needs no copy.
at::Tensor view_of(const Eigen::MatrixXd& matrix) {
  require(matrix.rows() == matrix.cols(),
          "a symmetric matrix must be square, got {} x {}",
          matrix.rows(),
          matrix.cols());
  return torch::from_blob(
      const_cast<double*>(matrix.data()), {matrix.rows(), matrix.cols()}, torch::kDouble);
}

}  // namespace

Eigen::VectorXd symmetric_eigenvalues(const Eigen::MatrixXd& matrix) {
  return to_vector(at::linalg_eigvalsh(view_of(matrix)));
}

linalg::SymmetricEigen symmetric_eigen(const Eigen::MatrixXd& matrix) {
  const auto [values, vectors] = at::linalg_eigh(view_of(matrix));
  return {to_vector(values), to_matrix(vectors)};
}

bool cholesky(Eigen::Ref<Eigen::MatrixXd> matrix) {
  constexpr int64_t kBlock = 256;
  const int64_t d = matrix.rows();
  require(
      matrix.cols() == d, "a Cholesky factor needs a square matrix, got {} x {}", d, matrix.cols());
  const auto whole =
      torch::from_blob(matrix.data(), {d, d}, {1, matrix.outerStride()}, torch::kDouble);
  for (int64_t begin = 0; begin < d; begin += kBlock) {
    const int64_t width = std::min(kBlock, d - begin), below = d - begin - width;
    // Columns `begin` and on, less what the columns before them make, and then by their own corner.
    const auto panel = whole.narrow(0, begin, d - begin).narrow(1, begin, width);
    auto rest = panel.clone();
    if (begin > 0) {
      const auto left = whole.narrow(0, begin, d - begin).narrow(1, 0, begin);
      rest.addmm_(left, left.narrow(0, 0, width).t(), 1, -1);
    }
    const auto [corner, failed] = at::linalg_cholesky_ex(rest.narrow(0, 0, width));
    if (failed.item<int>() != 0) return false;
    panel.narrow(0, 0, width).copy_(corner.tril() + panel.narrow(0, 0, width).triu(1));
    if (below == 0) break;
    panel.narrow(0, width, below)
        .copy_(at::linalg_solve_triangular(
            corner.t(), rest.narrow(0, width, below), /*upper=*/true, /*left=*/false));
  }
  return true;
}

at::Tensor flatten(const std::vector<at::Tensor>& parts, const std::vector<at::Tensor>& like) {
  require(
      parts.size() == like.size(), "flatten: {} parts for {} shapes", parts.size(), like.size());
  std::vector<at::Tensor> flat;
  flat.reserve(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    flat.push_back(parts[i].defined() ? parts[i].reshape(-1)
                                      : torch::zeros_like(like[i]).reshape(-1));
  }
  return torch::cat(flat);
}

}  // namespace kappascope::tensor
