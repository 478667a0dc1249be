// SPDX-License-Identifier: Apache-2.0
#include "tensor/weights.h"

#include <torch/types.h>

#include <cmath>

#include "kappascope/core/error.h"
#include "support/catch.h"

using namespace kappascope;

TEST_CASE("the norm and the stable rank lie in their intervals, tall or wide") {
  torch::manual_seed(1);
  for (const auto& shape : {std::pair<int64_t, int64_t>{30, 80}, {80, 30}, {1, 20}, {50, 50}}) {
    CAPTURE(shape.first, shape.second);
    const auto matrix = torch::randn({shape.first, shape.second}, torch::kDouble);
    const auto singular = at::linalg_svdvals(matrix);
    const double norm = singular[0].item<double>();
    const double stable_rank = singular.square().sum().item<double>() / (norm * norm);
    for (const auto type : {torch::kDouble, torch::kFloat}) {
      const auto found = tensor::spectral_norm(matrix.to(type));
      CHECK(found.status == linalg::KrylovStatus::kConverged);
      CHECK(found.value == Approx(norm).epsilon(1e-3));
      CHECK(found.lower <= norm * (1 + 1e-6));
      CHECK(found.upper >= norm * (1 - 1e-6));
      CHECK(found.stable_rank == Approx(stable_rank).epsilon(2e-3));
      CHECK(found.stable_rank_lower <= stable_rank * (1 + 1e-6));
      CHECK(found.stable_rank_upper >= stable_rank * (1 - 1e-6));
    }
  }
}

TEST_CASE("a matrix of rank one has the stable rank one, and one of zeros none") {
  torch::manual_seed(2);
  const auto rank_one = torch::outer(torch::randn({20}), torch::randn({30}));
  CHECK(tensor::spectral_norm(rank_one).stable_rank == Approx(1).epsilon(1e-4));
  const auto nothing = tensor::spectral_norm(torch::zeros({3, 4}));
  CHECK(nothing.value == 0);
  CHECK(std::isnan(nothing.stable_rank));
  auto broken = torch::randn({4, 5});
  broken[1][2] = NAN;
  CHECK(tensor::spectral_norm(broken).status == linalg::KrylovStatus::kNonFinite);
  CHECK(std::isnan(tensor::spectral_norm(broken).value));
  CHECK_THROWS_AS(tensor::spectral_norm(torch::zeros({3})), Error);
  CHECK_THROWS_AS(tensor::spectral_norm(torch::zeros({3, 0})), Error);
  CHECK_THROWS_AS(tensor::spectral_norm(torch::zeros({3, 2}, torch::kLong)), Error);
}

TEST_CASE("half precision has the norm of its values") {
  torch::manual_seed(3);
  const auto matrix = torch::randn({40, 20}).to(torch::kBFloat16);
  const double norm = at::linalg_svdvals(matrix.to(torch::kDouble))[0].item<double>();
  CHECK(tensor::spectral_norm(matrix).value == Approx(norm).epsilon(1e-3));
}

TEST_CASE("channels are aligned as their rows are") {
  torch::manual_seed(4);
  const int64_t d = 400, width = 50;
  auto gate = torch::randn({d, width}, torch::kDouble);
  auto up = torch::randn({d, width}, torch::kDouble);
  const auto random = tensor::alignment(gate, up);
  CHECK(random.median == Approx(0.674 / std::sqrt(width)).epsilon(0.15));
  CHECK(random.largest < 0.7);
  up[7] = -3 * gate[7];
  CHECK(tensor::alignment(gate, up).largest == Approx(1));
  // A channel of zeros has no direction.
  gate[9].zero_();
  CHECK(std::isfinite(tensor::alignment(gate, up).largest));
  CHECK(tensor::alignment(up, gate).median == tensor::alignment(gate, up).median);
  CHECK(tensor::alignment(1e200 * gate, 1e-200 * up).largest == Approx(1));
  CHECK(std::isnan(tensor::alignment(torch::zeros({2, 3}), torch::ones({2, 3})).largest));
  CHECK_THROWS_AS(tensor::alignment(gate, up.narrow(0, 0, 5)), Error);
}
