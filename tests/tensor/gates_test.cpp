// SPDX-License-Identifier: Apache-2.0
#include "tensor/gates.h"

#include <torch/types.h>

#include <limits>

#include "support/catch.h"

using namespace kappascope;

namespace {

at::Tensor inputs_of(int64_t sequences, int64_t tokens, int64_t d) {
  return torch::sin(torch::arange(sequences * tokens * d, torch::kDouble) * 1.7)
      .mul(6)
      .view({sequences, tokens, d});
}

}  // namespace

TEST_CASE("gates are counted as by hand: open by channel, open and saturated by sequence") {
  const auto g = inputs_of(3, 5, 4);
  const auto counts = tensor::count_gates({g, {}});
  CHECK(counts.open.equal((g > 0).sum(at::IntArrayRef{0, 1}).to(torch::kDouble)));
  for (int64_t i = 0; i < 3; ++i) {
    CHECK(counts.sequences[i][0].item<double>() == 5);
    CHECK(counts.sequences[i][1].item<double>() == (g[i] > 0).sum().item<double>());
    CHECK(counts.sequences[i][2].item<double>() == (g[i].abs() > 4).sum().item<double>());
  }
  CHECK(counts.sequences.select(1, 2).sum().item<double>() > 0);
}

TEST_CASE("rows that do not count, and rows with a number that is not finite, are left out") {
  auto g = inputs_of(2, 4, 3);
  const auto mask = torch::tensor({{true, true, false, true}, {false, true, true, true}});
  g[0][1][2] = std::numeric_limits<double>::quiet_NaN();
  g[1][3][0] = std::numeric_limits<double>::infinity();
  const auto counts = tensor::count_gates({g, mask});
  const auto left = torch::cat({g[0].index({torch::tensor({0, 3})}), g[1].slice(0, 1, 3)});
  CHECK(counts.open.equal((left > 0).sum(0).to(torch::kDouble)));
  CHECK(counts.sequences.select(1, 0).equal(torch::tensor({2.0, 2.0}, torch::kDouble)));
}

TEST_CASE("a sample has at most 256 rows, evenly from at most 16 sequences") {
  const auto g = inputs_of(40, 100, 2);
  const auto sample = tensor::sample_gates(g.view({4, 10, 100, 2}), {});
  CHECK(sample.values.equal(g.slice(0, 0, 40, 3).slice(1, 0, 100, 6)));
  CHECK(sample.values.size(0) == 14);
  CHECK(sample.values.size(0) * sample.values.size(1) <= tensor::kGateRows);
  CHECK_FALSE(sample.mask.defined());
  // Few rows are all taken, and rows without sequences are one each.
  CHECK(tensor::sample_gates(g.slice(0, 0, 2), {}).values.equal(g.slice(0, 0, 2)));
  const auto rows = g.reshape({4000, 2});
  CHECK(tensor::sample_gates(rows, {}).values.equal(rows.slice(0, 0, 4000, 16).unsqueeze(1)));
}

TEST_CASE("a mask is sampled as its rows are, and one that does not fit is refused") {
  const auto g = inputs_of(40, 100, 2);
  const auto mask = g.select(2, 0) > 0;
  const auto sample = tensor::sample_gates(g, mask);
  CHECK(sample.mask.equal(sample.values.select(2, 0) > 0));
  CHECK_THROWS_WITH(tensor::sample_gates(g, mask.slice(0, 1)),
                    "a mask of 3900 rows does not fit 40 sequences of 100 tokens");
}

TEST_CASE("a sample is a copy: an activation in place does not change it") {
  const auto g = inputs_of(2, 3, 4);
  const auto before = g.clone();
  const auto sample = tensor::sample_gates(g, {});
  g.mul_(-1);
  CHECK(sample.values.equal(before));
}
