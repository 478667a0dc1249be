// SPDX-License-Identifier: Apache-2.0
#include "tensor/lower_triangle.h"

#include <torch/torch.h>

#include <limits>

#include "support/catch.h"

using namespace kappascope;

TEST_CASE("the lower triangle of a product, at once or pair by pair") {
  torch::manual_seed(3);
  // Numbers of few bits: every product is exact, whatever the order.
  for (const int64_t d : {1, 127, 130, 300, 1100}) {
    CAPTURE(d);
    const tensor::LowerTriangle triangle(d);
    const auto rows = torch::randint(-8, 8, {700, d}, torch::kFloat);
    const auto start = torch::ones({d, d});
    const auto want = (rows.t().matmul(rows) + 2 * start).tril();
    const auto whole = start.clone(), parts = start.clone();
    triangle.add_product(rows, 2, whole);
    CHECK(torch::equal(whole.tril(), want));
    for (int64_t pair = 0; pair < triangle.pairs(); ++pair) triangle.add_pair(pair, rows, 2, parts);
    CHECK(torch::equal(parts.tril(), want));
  }
}

TEST_CASE("an overwritten product forgets what was there, NaN too") {
  const auto rows = torch::ones({5, 200});
  const auto out = torch::full({200, 200}, std::numeric_limits<float>::quiet_NaN());
  tensor::LowerTriangle(200).add_product(rows, 0, out);
  CHECK(torch::equal(out.tril(), torch::full({200, 200}, 5.F).tril()));
}

TEST_CASE("a triangle is added into double, whatever its type") {
  torch::manual_seed(4);
  for (const int64_t d : {1, 2, 65, 300}) {
    const auto from = torch::randn({d, d});
    const auto start = torch::randn({d, d}, torch::kDouble);
    const auto want = (start + from.to(torch::kDouble)).tril();
    for (const auto& type : {torch::kFloat, torch::kDouble}) {
      auto to = start.clone();
      tensor::LowerTriangle(d).add(from.to(type), to);
      CHECK(torch::equal(to.tril(), want));
    }
  }
}
