// SPDX-License-Identifier: Apache-2.0
#include "tensor/convert.h"

#include <torch/types.h>
#include <torch/utils.h>

#include "kappascope/core/error.h"
#include "support/catch.h"

using namespace kappascope;

TEST_CASE("a matrix keeps its entries, also through a transposed view") {
  const auto m = torch::arange(6, torch::kFloat).reshape({2, 3});
  const auto host = tensor::to_matrix(m.t());
  REQUIRE(host.rows() == 3);
  REQUIRE(host.cols() == 2);
  CHECK(host(2, 1) == 5);
  CHECK(host(2, 0) == 2);
  CHECK_THROWS_AS(tensor::to_matrix(torch::zeros({3})), Error);
}

TEST_CASE("a vector there and back is the same vector") {
  const auto v = torch::tensor({1.5, -2.0, 1e300}, torch::kDouble);
  CHECK(torch::equal(tensor::from_vector(tensor::to_vector(v)), v));
}

TEST_CASE("an undefined part of what is flattened counts as zeros") {
  const std::vector<at::Tensor> like = {torch::zeros({2, 2}), torch::zeros({3})};
  const auto flat = tensor::flatten({torch::ones({2, 2}), at::Tensor()}, like);
  CHECK(torch::equal(flat, torch::tensor({1.f, 1.f, 1.f, 1.f, 0.f, 0.f, 0.f})));
}

TEST_CASE("LibTorch's eigendecomposition reproduces the matrix and agrees with Eigen's values") {
  torch::manual_seed(1);
  const auto a = torch::randn({30, 30}, torch::kDouble);
  const Eigen::MatrixXd matrix = tensor::to_matrix(a.matmul(a.t()));
  const auto eigen = tensor::symmetric_eigen(matrix);
  CHECK((eigen.vectors * eigen.values.asDiagonal() * eigen.vectors.transpose() - matrix).norm() <
        1e-12 * matrix.norm());
  CHECK((eigen.vectors.transpose() * eigen.vectors - Eigen::MatrixXd::Identity(30, 30)).norm() <
        1e-12);
  const auto want = linalg::symmetric_eigen(matrix).values;
  CHECK((tensor::symmetric_eigenvalues(matrix) - want).norm() < 1e-12 * want.norm());
  CHECK((eigen.values - want).norm() < 1e-12 * want.norm());
  CHECK_THROWS_AS(tensor::symmetric_eigenvalues(Eigen::MatrixXd::Zero(2, 3)), Error);
}

TEST_CASE("the Cholesky factor goes below the diagonal, and what is above it stays") {
  for (const Eigen::Index d : {1, 3, 300, 700}) {
    CAPTURE(d);
    const auto x = tensor::to_matrix(torch::randn({d, d}, torch::kDouble));
    const Eigen::MatrixXd a =
        x * x.transpose() / static_cast<double>(d) + Eigen::MatrixXd::Identity(d, d);
    Eigen::MatrixXd both = a;
    REQUIRE(tensor::cholesky(both));
    const Eigen::MatrixXd l = both.triangularView<Eigen::Lower>();
    CHECK((l * l.transpose() - a).norm() <= 1e-14 * static_cast<double>(d) * a.norm());
    const Eigen::MatrixXd above = both.triangularView<Eigen::StrictlyUpper>();
    const Eigen::MatrixXd before = a.triangularView<Eigen::StrictlyUpper>();
    CHECK(above == before);
    Eigen::MatrixXd indefinite = a;
    indefinite(d - 1, d - 1) = -1;
    CHECK_FALSE(tensor::cholesky(indefinite));
  }
  Eigen::MatrixXd wide(2, 3);
  CHECK_THROWS_AS(tensor::cholesky(wide), kappascope::Error);
}
