// SPDX-License-Identifier: Apache-2.0
#include "lab/data/sampler.h"

#include <torch/types.h>
#include <torch/utils.h>

#include "kappascope/core/error.h"
#include "support/catch.h"

using namespace kappascope;

TEST_CASE("an epoch shows every image at most once, and epochs differ") {
  data::EpochSampler sampler(103, 10, 7);
  REQUIRE(sampler.steps_per_epoch() == 10);
  std::vector<at::Tensor> batches;
  for (int64_t step = 0; step < 20; ++step) batches.push_back(sampler.indices(step).clone());
  for (const int64_t epoch : {0, 1}) {
    const auto all = torch::cat(
        std::vector<at::Tensor>(batches.begin() + epoch * 10, batches.begin() + epoch * 10 + 10));
    CHECK(std::get<0>(at::_unique(all)).size(0) == 100);
    CHECK(all.min().item<int64_t>() >= 0);
    CHECK(all.max().item<int64_t>() < 103);
  }
  CHECK_FALSE(torch::equal(batches[0], batches[10]));
}

TEST_CASE("a batch depends on seed and step alone") {
  data::EpochSampler forward(50, 8, 3), jump(50, 8, 3), other(50, 8, 4);
  for (int64_t step = 0; step < 9; ++step) forward.indices(step);
  CHECK(torch::equal(forward.indices(9), jump.indices(9)));
  CHECK_FALSE(torch::equal(jump.indices(9), other.indices(9)));
}

TEST_CASE("the sampler leaves the global random state alone") {
  torch::manual_seed(1);
  const auto want = torch::rand({3});
  torch::manual_seed(1);
  data::EpochSampler(50, 8, 3).indices(0);
  CHECK(torch::equal(torch::rand({3}), want));
}

TEST_CASE("an empty set and an impossible batch are refused") {
  CHECK_THROWS_AS(data::EpochSampler(0, 1, 1), Error);
  CHECK_THROWS_AS(data::EpochSampler(5, 6, 1), Error);
  CHECK_THROWS_AS(data::EpochSampler(5, 0, 1), Error);
}
