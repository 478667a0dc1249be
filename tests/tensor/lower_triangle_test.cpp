// SPDX-License-Identifier: Apache-2.0
#include "tensor/lower_triangle.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <limits>

#include "support/catch.h"
#include "tensor/convert.h"

using namespace kappascope;

namespace {

Eigen::MatrixXd symmetric(const at::Tensor& product) {
  return tensor::to_matrix(product);
}

}  // namespace

TEST_CASE("a product, at once or pair by pair") {
  torch::manual_seed(3);
  // Numbers of few bits: every product is exact, whatever the order.
  for (const int64_t d : {1, 127, 130, 300, 1100}) {
    CAPTURE(d);
    const tensor::LowerTriangle triangle(d);
    const auto rows = torch::randint(-8, 8, {700, d}, torch::kFloat);
    const auto want = symmetric(rows.t().matmul(rows) + 2);
    const auto whole = triangle.zeros(rows.options()) + 1, parts = whole.clone();
    triangle.add_product(rows, 2, whole);
    CHECK(triangle.unpack(whole) == want);
    for (int64_t pair = 0; pair < triangle.pairs(); ++pair) triangle.add_pair(pair, rows, 2, parts);
    CHECK(triangle.unpack(parts) == want);
  }
}

TEST_CASE("a packed triangle of many strips takes little more than half of the square") {
  const tensor::LowerTriangle triangle(1024);
  CHECK(triangle.zeros(torch::kFloat).numel() <= 1024 * 1024 * 17 / 32);
}

TEST_CASE("a packed triangle is unpacked and packed to the same bits") {
  const int64_t d = 300;
  const tensor::LowerTriangle triangle(d);
  const auto packed = triangle.zeros(torch::dtype(torch::kDouble));
  triangle.add_product(torch::randn({20, d}, torch::kDouble), 1, packed);
  Eigen::MatrixXd lower = triangle.unpack(packed);
  const Eigen::MatrixXd whole = lower;
  lower.triangularView<Eigen::StrictlyUpper>().setConstant(7);  // what is there is not read
  CHECK(triangle.unpack(triangle.pack(lower, packed.options())) == whole);
}

TEST_CASE("an overwritten product forgets what was there, NaN too") {
  const tensor::LowerTriangle triangle(200);
  const auto packed = triangle.zeros(torch::kFloat).fill_(std::numeric_limits<float>::quiet_NaN());
  triangle.add_product(torch::ones({5, 200}), 0, packed);
  CHECK(triangle.unpack(packed) == Eigen::MatrixXd::Constant(200, 200, 5));
}

TEST_CASE("floats are added into doubles one by one") {
  torch::manual_seed(4);
  for (const int64_t n : {1, 1000, 100'000}) {
    const auto from = torch::randn({n});
    const auto start = torch::randn({n}, torch::kDouble);
    for (const auto& type : {torch::kFloat, torch::kDouble}) {
      auto to = start.clone();
      tensor::add_widened(from.to(type), to);
      CHECK(torch::equal(to, start + from.to(torch::kDouble)));
    }
  }
}
