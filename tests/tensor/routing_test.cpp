// SPDX-License-Identifier: Apache-2.0
#include "kappascope/tensor/routing.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kappascope/core/error.h"
#include "support/catch.h"
#include "tensor/autocast.h"

using namespace kappascope;
using tensor::RouterPass;

namespace {

at::Tensor numbers_of(at::IntArrayRef sizes, double factor) {
  int64_t count = 1;
  for (const auto size : sizes) count *= size;
  return torch::sin(torch::arange(count, torch::kDouble) * factor).mul(3).view(sizes);
}

std::vector<double> host(const at::Tensor& row) {
  const auto plain = row.contiguous();
  const auto* first = plain.const_data_ptr<double>();
  return {first, first + plain.numel()};
}

double entropy_of(const at::Tensor& row) {
  const auto logits = host(row);
  double sum = 0, entropy = 0;
  for (const double l : logits) sum += std::exp(l);
  for (const double l : logits) entropy -= std::exp(l) / sum * (l - std::log(sum));
  return entropy / std::log(static_cast<double>(logits.size()));
}

double margin_of(const at::Tensor& row, std::size_t chosen) {
  auto logits = host(row);
  std::ranges::sort(logits, std::greater());
  return logits[chosen - 1] - logits[chosen];
}

double cell(const at::Tensor& summary, int64_t sequence, int64_t column) {
  return summary[sequence][column].item<double>();
}

}  // namespace

TEST_CASE("entropy and margin of a router are those by hand, by sequence") {
  const auto logits = numbers_of({3, 5, 4}, 1.7);
  const auto found = tensor::summarise({.logits = logits, .chosen = 2});
  REQUIRE(found.sizes() == at::IntArrayRef({3, 4}));
  for (int64_t s = 0; s < 3; ++s) {
    double entropy = 0, margin = 0;
    for (int64_t t = 0; t < 5; ++t) {
      entropy += entropy_of(logits[s][t]);
      margin += margin_of(logits[s][t], 2);
    }
    CHECK(cell(found, s, 0) == 5);
    CHECK(cell(found, s, 1) == Approx(entropy));
    CHECK(cell(found, s, 2) == Approx(margin));
  }
  const auto ends = torch::tensor({{{2., 2., 2., 2.}}, {{1e6, 0., 0., 0.}}}, torch::kDouble);
  const auto of_ends = tensor::summarise({.logits = ends, .chosen = 1});
  CHECK(cell(of_ends, 0, 1) == Approx(1));
  CHECK(cell(of_ends, 1, 1) == 0);
}

TEST_CASE("a choice is close where rounding to bfloat16 can change it") {
  // All pairs of neighbours, from equal to four units in the last place apart.
  const auto lower = torch::linspace(1, 2, 401, torch::kDouble);
  const auto apart = torch::linspace(0, 4 * 0x1p-7, 201, torch::kDouble);
  const auto low = lower.unsqueeze(1).expand({401, 201}).reshape({-1});
  const auto high = (lower.unsqueeze(1) + apart).reshape({-1});
  const auto logits = torch::stack({low, high, torch::full_like(low, -5)}, 1).unsqueeze(1);
  const auto found = tensor::summarise({.logits = logits, .chosen = 1}).select(1, 3);
  const auto rounded = logits.to(torch::kBFloat16).squeeze(1);
  const auto changed = rounded.select(1, 0) >= rounded.select(1, 1);
  CHECK(changed.sum().item<int64_t>() > 1000);
  CHECK(found.index({changed}).eq(1).all().item<bool>());
  // It says no more than that, and half of it would not be enough.
  const auto apart_by = high - low;
  CHECK(found.index({apart_by > 2.05 * 0x1p-7}).sum().item<double>() == 0);
  const auto missed = changed.logical_and(apart_by > (high + low) * 0x1p-9);
  CHECK(missed.sum().item<int64_t>() > 0);
}

TEST_CASE("a router that sends tokens to all experts, or to an unknown number, does not choose") {
  const auto logits = numbers_of({2, 3, 4}, 1.1);
  const auto all = tensor::summarise({.logits = logits, .chosen = 4});
  const auto unknown = tensor::summarise({.logits = logits});
  CHECK(torch::equal(all, unknown));
  CHECK(all.slice(1, 2).abs().sum().item<double>() == 0);
  CHECK(cell(all, 0, 1) > 0);
}

TEST_CASE("tokens that do not count, and those with a logit that is not finite, are left out") {
  auto logits = numbers_of({2, 4, 3}, 0.9);
  const auto mask = torch::tensor({{true, true, false, true}, {true, true, true, true}});
  logits[0][0][1] = std::numeric_limits<double>::quiet_NaN();
  logits[1].slice(0, 1).select(1, 2) = std::numeric_limits<double>::infinity();
  const auto found = tensor::summarise({.logits = logits, .mask = mask, .chosen = 1});
  CHECK(cell(found, 0, 0) == 2);
  CHECK(cell(found, 0, 1) == Approx(entropy_of(logits[0][1]) + entropy_of(logits[0][3])));
  CHECK(cell(found, 0, 2) == Approx(margin_of(logits[0][1], 1) + margin_of(logits[0][3], 1)));
  CHECK(cell(found, 1, 0) == 1);
  CHECK(cell(found, 1, 1) == Approx(entropy_of(logits[1][0])));
}

TEST_CASE("a sample has the logits of all rows, at 256 places of at most 16 sequences") {
  const auto rows = numbers_of({40, 100, 3}, 1.3);
  const auto weight = numbers_of({5, 3}, 2.1), bias = numbers_of({5}, 0.7);
  const auto mask = rows.select(2, 0) > 0;
  const auto all = rows.matmul(weight.t()) + bias;
  const auto some = tensor::sample_routing({.rows = rows,
                                            .weight = weight,
                                            .bias = bias,
                                            .mask = mask.to(torch::kLong),
                                            .chosen = 2,
                                            .sequences = 40});
  CHECK(torch::allclose(some.logits, all.slice(0, 0, 40, 3).slice(1, 0, 100, 6), 1e-13, 1e-13));
  CHECK(some.mask.equal(mask.slice(0, 0, 40, 3).slice(1, 0, 100, 6)));
  CHECK(some.chosen == 2);
  CHECK(some.logits.size(0) * some.logits.size(1) <= tensor::kRouterRows);
  const auto flat = tensor::sample_routing(
      {.rows = rows.view({4000, 3}), .weight = weight, .bias = bias, .sequences = 40});
  CHECK(torch::equal(flat.logits, some.logits));
}

TEST_CASE("rows whose sequences nobody knows are one sequence") {
  const auto rows = numbers_of({4000, 3}, 1.3), weight = numbers_of({5, 3}, 2.1);
  const auto mask = rows.select(1, 0) > 0;
  const auto some = tensor::sample_routing({.rows = rows, .weight = weight, .mask = mask});
  CHECK(some.logits.sizes() == at::IntArrayRef({1, 250, 5}));
  const auto all = rows.matmul(weight.t());
  CHECK(torch::allclose(some.logits[0], all.slice(0, 0, 4000, 16), 1e-13, 1e-13));
  CHECK(some.mask[0].equal(mask.slice(0, 0, 4000, 16)));
}

TEST_CASE("logits are taken in float, also of half precision and within autocast") {
  const auto rows = numbers_of({2, 6, 8}, 1.3).to(torch::kBFloat16);
  const auto weight = numbers_of({4, 8}, 2.1).to(torch::kBFloat16);
  const auto exact = rows.to(torch::kDouble).matmul(weight.to(torch::kDouble).t());
  const RouterPass pass{.rows = rows, .weight = weight, .sequences = 2};
  const auto half = tensor::sample_routing(pass);
  CHECK(half.logits.scalar_type() == torch::kFloat);
  CHECK(torch::allclose(half.logits.to(torch::kDouble), exact, 1e-5, 1e-5));
  const tensor::Autocast on(torch::kCPU, torch::kBFloat16);
  const auto single = tensor::sample_routing(
      {.rows = rows.to(torch::kFloat), .weight = weight.to(torch::kFloat), .sequences = 2});
  CHECK(torch::equal(single.logits, half.logits));
  CHECK(tensor::Autocast::now(torch::kCPU) == torch::kBFloat16);
}

TEST_CASE("what does not fit a router is refused") {
  const auto rows = torch::ones({6, 3}), weight = torch::ones({4, 3});
  CHECK_NOTHROW(tensor::sample_routing({.rows = rows, .weight = weight}));
  CHECK_THROWS_AS(tensor::sample_routing({.rows = rows, .weight = torch::ones({1, 3})}), Error);
  CHECK_THROWS_AS(tensor::sample_routing({.rows = rows, .weight = torch::ones({4, 2})}), Error);
  CHECK_THROWS_AS(tensor::sample_routing({.rows = rows.slice(0, 0, 0), .weight = weight}), Error);
  CHECK_THROWS_AS(
      tensor::sample_routing({.rows = rows, .weight = weight, .bias = torch::ones({3})}), Error);
  CHECK_THROWS_WITH(
      tensor::sample_routing({.rows = rows, .weight = weight, .mask = torch::ones({5})}),
      "a mask of 5 rows does not fit 6 rows of a router");
  CHECK_THROWS_WITH(tensor::sample_routing({.rows = rows, .weight = weight, .sequences = 4}),
                    "6 rows of a router are not 4 sequences");
  CHECK_THROWS_AS(tensor::sample_routing({}), Error);
  CHECK_THROWS_AS(tensor::summarise({}), Error);
}
