// SPDX-License-Identifier: Apache-2.0
#include "tensor/weight_changes.h"

#include <torch/types.h>

#include <cmath>
#include <numeric>

#include "kappascope/core/error.h"
#include "kappascope/core/statistics.h"
#include "support/catch.h"

using namespace kappascope;
using Catch::Contains;
using tensor::WeightChanges;

namespace {

double length_of(const at::Tensor& matrix) {
  return matrix.to(torch::kDouble).norm().item<double>();
}

double share_unchanged(const WeightChanges& changes) {
  const auto counts = changes.unchanged();
  return std::reduce(counts.begin(), counts.end()) / static_cast<double>(counts.size()) /
         static_cast<double>(changes.steps());
}

}  // namespace

TEST_CASE("of a small matrix the update is exact, over all steps compared") {
  torch::manual_seed(1);
  WeightChanges changes;
  auto w = torch::randn({30, 20}, torch::kDouble);
  double moved = 0, size = 0;
  for (int step = 5; step < 9; ++step) {
    changes.observe(step, w);
    changes.observe(step, w + 1);  // another pass of the same step
    const auto next = w + 1e-3 * torch::randn_like(w);
    if (step < 8) {
      moved += std::pow(length_of(next - w), 2);
      size += std::pow(length_of(w), 2);
    }
    w = next;
  }
  const auto found = changes.ratio();
  CHECK(changes.steps() == 3);
  CHECK(found.value == Approx(std::sqrt(moved / size)).epsilon(1e-12));
  CHECK(found.lower == found.value);
  CHECK(found.upper == found.value);
  CHECK(share_unchanged(changes) == 0);
}

TEST_CASE("of a large matrix a sample of all rows and columns holds the truth in its interval") {
  // Updates of uneven size, by row and by column. Of 200 draws at nominal 95 % fewer than 180 hits
  // have a chance of 0.2 %, and 200 one of 0.004 %. The error of a ratio of totals, which takes
  // entries for independent, had 179.
  torch::manual_seed(2);
  int hits = 0;
  double width = 0;
  for (int draw = 0; draw < 200; ++draw) {
    const auto w = torch::randn({192, 768});
    const auto delta =
        1e-3 * torch::randn({192, 768}) * torch::rand({192, 1}) * torch::randn({1, 768}).exp();
    const auto next = w + delta;
    WeightChanges changes;
    changes.observe(0, w);
    changes.observe(1, next);
    const auto found = changes.ratio();
    const double truth = length_of(next.to(torch::kDouble) - w.to(torch::kDouble)) / length_of(w);
    hits += found.lower <= truth && truth <= found.upper ? 1 : 0;
    width += (found.upper / found.lower - 1) / 200;
    CHECK(changes.unchanged().size() >= WeightChanges::kEntries / 2);
  }
  CHECK(hits >= 180);
  CHECK(hits < 200);
  CHECK(width < 0.8);
}

TEST_CASE("what rounding of the weights loses is counted") {
  torch::manual_seed(3);
  const auto w = torch::randn({256, 512}).mul(0.02).to(torch::kBFloat16);
  const auto next =
      (w.to(torch::kFloat) + 1e-5 * torch::randn({256, 512}).sign()).to(w.scalar_type());
  WeightChanges changes;
  changes.observe(0, w);
  changes.observe(1, next);
  const double truth = (next == w).to(torch::kDouble).mean().item<double>();
  const auto counts = changes.unchanged();
  const auto found = clustered_share(counts, std::vector<double>(counts.size(), 1.0));
  CHECK(truth > 0.5);
  CHECK(found.interval.lower <= truth);
  CHECK(truth <= found.interval.upper);
  CHECK(found.interval.upper - found.interval.lower < 0.04);
}

TEST_CASE("a matrix is its values, however they lie in memory") {
  torch::manual_seed(4);
  const auto w = torch::randn({40, 700}), next = w + 1e-2 * torch::randn({40, 700});
  WeightChanges plain, transposed;
  plain.observe(0, w);
  plain.observe(1, next);
  transposed.observe(0, w.t().contiguous().t());
  transposed.observe(1, next.t().contiguous().t());
  CHECK(plain.ratio().value == transposed.ratio().value);
}

TEST_CASE("after a gap the comparison begins anew, and a skipped step moves nothing") {
  const auto w = torch::ones({4, 4}, torch::kDouble);
  WeightChanges changes;
  changes.observe(0, w);
  changes.observe(5, 2 * w);
  CHECK(changes.steps() == 0);
  CHECK(std::isnan(changes.ratio().value));
  CHECK(changes.unchanged().empty());
  changes.observe(6, 2 * w);
  CHECK(changes.ratio().value == 0);
  CHECK(share_unchanged(changes) == 1);
  changes.observe(7, 3 * w);
  CHECK(changes.ratio().value == Approx(std::sqrt(1.0 / 8)));
  CHECK(share_unchanged(changes) == 0.5);
}

TEST_CASE("where none of the sampled entries moved there is no interval") {
  const auto w = torch::ones({200, 200});
  WeightChanges changes;
  changes.observe(0, w);
  changes.observe(1, w);
  CHECK(changes.ratio().value == 0);
  CHECK(std::isnan(changes.ratio().upper));
}

TEST_CASE("a matrix of another size and one without numbers are refused") {
  WeightChanges changes;
  changes.observe(0, torch::ones({4, 4}));
  CHECK_THROWS_WITH(changes.observe(1, torch::ones({4, 5})), Contains("16 numbers has 20"));
  CHECK_THROWS_AS(changes.observe(1, torch::ones({4, 4}, torch::kLong)), Error);
  CHECK_THROWS_AS(changes.observe(1, torch::ones({0, 4})), Error);
  CHECK_THROWS_AS(changes.observe(1, torch::ones({4})), Error);
}

TEST_CASE("restored changes go on to the last bit") {
  torch::manual_seed(5);
  WeightChanges whole, first;
  auto w = torch::randn({64, 128});
  for (int step = 0; step < 6; ++step) {
    whole.observe(step, w);
    if (step == 3) {
      WeightChanges second;
      second.load(first.state());
      first = second;
    }
    first.observe(step, w);
    w = w + 1e-3 * torch::randn_like(w);
  }
  CHECK(first.ratio().value == whole.ratio().value);
  CHECK(first.ratio().upper == whole.ratio().upper);
  CHECK(first.unchanged() == whole.unchanged());
  auto state = whole.state();
  state.set("steps", std::int64_t{-1});
  CHECK_THROWS_AS(first.load(state), Error);
  state.set("steps", std::int64_t{2});
  state.set("moved", torch::ones({3}, torch::kDouble));
  CHECK_THROWS_AS(first.load(state), Error);
}
