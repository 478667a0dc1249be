// SPDX-License-Identifier: Apache-2.0
#include "tensor/mean_cosine.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <limits>

#include "support/catch.h"

using namespace kappascope;

namespace {

double mean_cosine(const at::Tensor& rows) {
  tensor::MeanCosine mean;
  mean.update(rows);
  return mean.result();
}

/// Pair by pair, in double.
double by_pairs(const at::Tensor& rows) {
  const auto wide = rows.to(torch::kDouble);
  double sum = 0;
  const auto n = wide.size(0);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      if (i == j) continue;
      sum += torch::cosine_similarity(wide[i], wide[j], 0).item<double>();
    }
  }
  return sum / static_cast<double>(n * (n - 1));
}

}  // namespace

TEST_CASE("the mean cosine is that over all pairs, however the rows arrive") {
  torch::manual_seed(1);
  const auto rows = torch::randn({40, 6}) * torch::linspace(0.1, 30, 40).unsqueeze(1) + 0.5;
  const double truth = by_pairs(rows);
  REQUIRE(std::abs(truth) > 0.01);
  CHECK(mean_cosine(rows) == Approx(truth).epsilon(1e-5));
  CHECK(mean_cosine(rows.to(torch::kDouble)) == Approx(truth).epsilon(1e-12));
  tensor::MeanCosine parts;
  parts.update(rows.narrow(0, 0, 13));
  tensor::MeanCosine resumed;
  resumed.load(parts.state());
  resumed.update(rows.narrow(0, 13, 27));
  CHECK(resumed.result() == Approx(truth).epsilon(1e-5));
  CHECK(resumed.rows() == 40);
}

TEST_CASE("the mean cosine of known directions, and of rows without one") {
  const auto one_way = torch::tensor({{1.0, 2.0}, {2.0, 4.0}, {0.5, 1.0}});
  CHECK(mean_cosine(one_way) == Approx(1));
  const auto opposite = torch::tensor({{1.0, 0.0}, {-3.0, 0.0}});
  CHECK(mean_cosine(opposite) == Approx(-1));
  CHECK(mean_cosine(torch::eye(5, torch::kDouble)) == Approx(0).margin(1e-15));
  const double infinity = std::numeric_limits<double>::infinity();
  const auto some = torch::tensor({{1.0, 2.0}, {0.0, 0.0}, {infinity, 1.0}, {2.0, 4.0}});
  CHECK(mean_cosine(some) == Approx(1));
  CHECK(std::isnan(mean_cosine(torch::zeros({3, 2}))));
  CHECK(std::isnan(mean_cosine(torch::ones({1, 2}))));
  CHECK(std::isnan(tensor::MeanCosine().result()));
}
