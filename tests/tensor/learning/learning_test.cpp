// SPDX-License-Identifier: Apache-2.0
#include "kappascope/tensor/learning.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <vector>

#include "../device.h"
#include "kappascope/core/error.h"
#include "support/catch.h"
#include "tensor/convert.h"

using namespace kappascope;

namespace {

at::Tensor some_rows(int64_t n, int64_t d) {
  torch::manual_seed(1);
  return torch::randn({n, d}, torch::kDouble) / torch::arange(1, d + 1).sqrt() + 0.5;
}

void check_near(const linalg::StepsEstimate& a, const linalg::StepsEstimate& b, double epsilon) {
  CHECK(a.value == Approx(b.value).epsilon(epsilon));
  CHECK(a.lower == Approx(b.lower).epsilon(epsilon));
  CHECK(a.upper == Approx(b.upper).epsilon(epsilon));
}

/// Logarithms of five learning times.
Eigen::ArrayXd logs_of(const linalg::Learning& found) {
  Eigen::ArrayXd values(5);
  values << found.sigma.half.value, found.sigma.ninety.value, found.second_moment.ninety.value,
      found.with_bias.ninety.value, found.mean_costs.value;
  return values.log();
}

/// The signs of 16 seeds are independent: their mean is within six of its standard errors of what
/// the dense reference has but for a chance below 1e-4, beside a per cent for what is not linear in
/// them.
void check_dense(const at::Tensor& rows, const at::Tensor& bias, int steps) {
  constexpr int kSeeds = 16;
  const auto dense = logs_of(linalg::learning(tensor::to_matrix(rows), tensor::to_vector(bias)));
  Eigen::ArrayXXd found(dense.size(), kSeeds);
  for (int seed = 0; seed < kSeeds; ++seed) {
    tensor::LearningOptions options;
    options.seed = static_cast<std::uint64_t>(seed);
    options.steps = steps;
    found.col(seed) = logs_of(tensor::learning(rows, bias, options));
  }
  const Eigen::ArrayXd mean = found.rowwise().mean();
  const Eigen::ArrayXd error =
      ((found.colwise() - mean).square().rowwise().sum() / (kSeeds * (kSeeds - 1))).sqrt();
  for (Eigen::Index i = 0; i < dense.size(); ++i) {
    CAPTURE(i, mean(i), error(i), dense(i));
    CHECK(std::abs(mean(i) - dense(i)) <= 6 * error(i) + 0.01);
  }
}

}  // namespace

TEST_CASE("learning times by Lanczos are those of the dense reference") {
  check_dense(some_rows(600, 32), torch::full({32}, -0.4, torch::kDouble), 32);
}

// Ritz vectors inside the bulk lean towards the random signs that they were found with.
TEST_CASE("an even bulk below one large eigenvalue is learned as slowly as the reference says") {
  torch::manual_seed(2);
  auto rows = torch::randn({640, 160}, torch::kDouble);
  rows.select(1, 0) *= std::sqrt(160.0);
  check_dense(rows, torch::zeros({160}, torch::kDouble), 24);
}

TEST_CASE("float rows give what double rows give") {
  const auto rows = some_rows(600, 40);
  const auto wide = tensor::learning(rows), narrow = tensor::learning(rows.to(torch::kFloat));
  check_near(narrow.sigma.ninety, wide.sigma.ninety, 1e-3);
  check_near(narrow.second_moment.ninety, wide.second_moment.ninety, 1e-3);
}

TEST_CASE("bfloat16 rows give what the same numbers give in float") {
  const auto rows = some_rows(600, 40).to(torch::kBFloat16);
  check_near(tensor::learning(rows).sigma.ninety,
             tensor::learning(rows.to(torch::kFloat)).sigma.ninety,
             1e-6);
}

TEST_CASE("sequences count as such, whatever says where they are") {
  const auto rows = some_rows(640, 24).view({40, 16, 24});
  const auto flat = rows.reshape({640, 24});
  tensor::LearningOptions grouped;
  grouped.rows_per_group = 16;
  const auto a = tensor::learning(rows), b = tensor::learning(flat, {}, grouped);
  const auto c = tensor::learning(flat, std::vector<int64_t>(40, 16), {});
  CHECK(a.groups == 40);
  CHECK(tensor::learning(flat).groups == 640);
  check_near(b.sigma.ninety, a.sigma.ninety, 1e-9);
  check_near(c.sigma.ninety, a.sigma.ninety, 1e-9);
}

TEST_CASE("a row that is not finite is left out of its sequence") {
  auto rows = some_rows(640, 24);
  const auto before =
      tensor::learning(torch::cat({rows.narrow(0, 0, 100), rows.narrow(0, 101, 539)}),
                       [] {
                         std::vector<int64_t> groups(40, 16);
                         groups[6] = 15;
                         return groups;
                       }(),
                       {});
  rows[100][3] = NAN;
  const auto found = tensor::learning(rows, std::vector<int64_t>(40, 16), {});
  CHECK(found.nonfinite_rows == 1);
  CHECK(found.rows == 639);
  CHECK(found.sigma.ninety.value == before.sigma.ninety.value);
}

TEST_CASE("rows of extreme scale, few rows and constant rows have an answer or a reason") {
  const auto rows = some_rows(600, 24);
  const auto plain = tensor::learning(rows);
  for (const double scale : {1e-30, 1e30})
    check_near(
        tensor::learning((rows * scale).to(torch::kFloat)).sigma.ninety, plain.sigma.ninety, 1e-3);
  CHECK(tensor::learning(some_rows(3, 24)).sigma.ninety.resolution ==
        linalg::Resolution::kNotResolvable);
  CHECK(tensor::learning(torch::ones({64, 24})).sigma.ninety.resolution ==
        linalg::Resolution::kDegenerate);
  CHECK(tensor::learning(torch::randn({64, 1})).sigma.ninety.value == 1);
}

TEST_CASE("tensors that are no features are errors") {
  CHECK_THROWS_AS(tensor::learning(torch::ones({4})), Error);
  CHECK_THROWS_AS(tensor::learning(torch::ones({4, 4}, torch::kLong)), Error);
  CHECK_THROWS_AS(tensor::learning(torch::ones({8, 4}), torch::ones({3})), Error);
  CHECK_THROWS_AS(tensor::learning(torch::ones({8, 4}), std::vector<int64_t>{3}, {}), Error);
  tensor::LearningOptions options;
  options.rows_per_group = 3;
  CHECK_THROWS_AS(tensor::learning(torch::ones({8, 4}), {}, options), Error);
}

// Float products on two devices differ by their order of addition: 1e-4 of a number of steps.
TEST_CASE("a device gives the host's learning times", "[cuda]") {
  if (no_device()) return;
  const auto rows = some_rows(600, 40).to(torch::kFloat);
  check_near(tensor::learning(rows.to(torch::kCUDA)).sigma.ninety,
             tensor::learning(rows).sigma.ninety,
             1e-3);
}
