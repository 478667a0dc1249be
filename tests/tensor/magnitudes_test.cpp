// SPDX-License-Identifier: Apache-2.0
#include "tensor/magnitudes.h"

#include <torch/types.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <string>

#include "kappascope/core/error.h"
#include "support/catch.h"

using namespace kappascope;
using tensor::Magnitude;

namespace {

std::vector<int64_t> sequences(int64_t count, int64_t tokens) {
  return std::vector<int64_t>(static_cast<std::size_t>(count), tokens);
}

double largest_of(const at::Tensor& rows) {
  return rows.abs().max().item<double>();
}

/// Sequences of 8 tokens and 24 channels with tails, each sequence with a scale of its own.
at::Tensor heavy(int64_t count) {
  const auto scales = torch::randn({count, 1, 1}).mul(0.5).exp();
  const auto channels = torch::linspace(-1, 1, 24).exp();
  return (torch::randn({count, 8, 24}) * torch::randn({count, 8, 24}).square() * scales * channels)
      .reshape({-1, 24});
}

double share_of(const at::Tensor& hits, const at::Tensor& all) {
  return hits.sum().item<double>() / all.sum().item<double>();
}

/// What MXFP8 makes of it, block by block as the specification has it.
at::Tensor as_mxfp8(const at::Tensor& rows) {
  auto out = rows.clone();
  for (int64_t i = 0; i < rows.size(0); ++i) {
    for (int64_t begin = 0; begin < rows.size(1); begin += 32) {
      const auto width = std::min<int64_t>(32, rows.size(1) - begin);
      auto block = out[i].narrow(0, begin, width);
      const double scale = std::exp2(std::floor(std::log2(block.abs().max().item<double>())) - 8);
      block.copy_((block / scale).clamp(-448, 448).to(torch::kFloat8_e4m3fn).to(torch::kFloat) *
                  scale);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("sizes, zeros and the kurtosis of channels are those of the values") {
  torch::manual_seed(1);
  auto rows = torch::randn({60, 50}, torch::kDouble);
  rows.masked_fill_(torch::rand({60, 50}) < 0.25, 0);
  const auto found = tensor::magnitudes(rows, sequences(12, 5), largest_of(rows));
  CHECK(found.rows == 60);
  CHECK(found.groups == 12);
  const auto sorted = std::get<0>(rows.abs().flatten().sort());
  CHECK(found.median.value == sorted[1499].item<double>());
  CHECK(found.p99.value == sorted[2969].item<double>());
  CHECK(found.zeros.value == Approx((rows == 0).to(torch::kDouble).mean().item<double>()));
  // The jackknife takes a bias of a few percent out of the plain quotient.
  const auto squares = rows.square().mean(0);
  const double plain = (squares.square().mean() / squares.mean().square()).item<double>();
  CHECK(found.channel_kurtosis.lower < plain);
  CHECK(found.channel_kurtosis.value < plain);
  CHECK(found.channel_kurtosis.value > 1 - 0.02);
}

TEST_CASE("one channel that is everything has the kurtosis d") {
  auto rows = torch::zeros({16, 10});
  rows.select(1, 3) = torch::arange(1, 17);
  const auto found = tensor::magnitudes(rows, sequences(16, 1), 16);
  CHECK(found.channel_kurtosis.value == Approx(10));
  CHECK(found.zeros.value == Approx(0.9));
  CHECK(found.median.value == 0);
}

TEST_CASE("what 8-bit formats lose is what a cast makes zero") {
  torch::manual_seed(2);
  // Nine orders of magnitude, and a last block of channels that is not full.
  const auto rows = torch::randn({64, 72}) * torch::randn({64, 72}).mul(4).exp();
  const double largest = largest_of(rows);
  const auto found = tensor::magnitudes(rows, sequences(64, 1), largest);
  const auto all = rows != 0;
  const auto cast = [&](at::ScalarType type, double most) {
    return share_of((rows * (most / largest)).to(type).to(torch::kFloat) == 0, all);
  };
  CHECK(found.lost_e4m3.value == Approx(cast(torch::kFloat8_e4m3fn, 448)));
  CHECK(found.lost_e5m2.value == Approx(cast(torch::kFloat8_e5m2, 57344)));
  CHECK(found.lost_mxfp8.value == Approx(share_of(as_mxfp8(rows) == 0, all)));
  CHECK(found.lost_e4m3.value > 2 * found.lost_mxfp8.value);
  CHECK(found.lost_e4m3.value > found.lost_e5m2.value);
  CHECK(found.lost_e5m2.value > 0);
}

TEST_CASE("the intervals hold the truth of dependent, heavy-tailed rows") {
  // Of 200 draws at nominal 95 % fewer than 180 hits have a chance of 0.2 %; the kurtosis of such
  // tails has 90 %, and fewer than 168 hits a chance of 0.3 %.
  torch::manual_seed(3);
  constexpr double kLargest = 500;
  const auto truth = tensor::magnitudes(heavy(30000), sequences(30000, 8), kLargest);
  std::map<std::string, int> hits;
  const auto count = [&](const char* name, const Magnitude& is, const Magnitude& found) {
    hits[name] += found.lower <= is.value && is.value <= found.upper ? 1 : 0;
  };
  for (int draw = 0; draw < 200; ++draw) {
    const auto found = tensor::magnitudes(heavy(60), sequences(60, 8), kLargest);
    count("median", truth.median, found.median);
    count("p99", truth.p99, found.p99);
    count("kurtosis", truth.channel_kurtosis, found.channel_kurtosis);
    count("e4m3", truth.lost_e4m3, found.lost_e4m3);
    count("mxfp8", truth.lost_mxfp8, found.lost_mxfp8);
  }
  for (const auto& [name, number] : hits) {
    INFO(name);
    CHECK(number >= (name == "kurtosis" ? 168 : 180));
    CHECK(number < 200);
  }
}

TEST_CASE("rows of one sequence have no interval, and values of nothing but zeros no shares") {
  torch::manual_seed(4);
  const auto rows = torch::randn({8, 4});
  const auto one = tensor::magnitudes(rows, sequences(1, 8), largest_of(rows));
  CHECK(std::isfinite(one.median.value));
  CHECK(std::isnan(one.median.lower));
  CHECK(std::isnan(one.lost_e4m3.upper));
  CHECK(std::isnan(one.channel_kurtosis.lower));
  const auto nothing = tensor::magnitudes(torch::zeros({8, 4}), sequences(8, 1), 0);
  CHECK(nothing.zeros.value == 1);
  CHECK(nothing.zeros.lower < 0.7);
  CHECK(nothing.median.value == 0);
  CHECK(std::isnan(nothing.lost_e4m3.value));
  CHECK(std::isnan(nothing.channel_kurtosis.value));
  CHECK(std::isnan(tensor::magnitudes(torch::zeros({0, 4}), {}, 0).median.value));
}

TEST_CASE("rows with a number that is not finite are left out, and what does not fit is refused") {
  torch::manual_seed(5);
  auto rows = torch::randn({12, 4});
  const auto whole = tensor::magnitudes(rows.narrow(0, 3, 9), sequences(3, 3), 5);
  rows.narrow(0, 0, 3).fill_(NAN);
  const auto found = tensor::magnitudes(rows, sequences(4, 3), 5);
  CHECK(found.rows == 9);
  CHECK(found.groups == 3);
  CHECK(found.p99.value == whole.p99.value);
  CHECK(found.p99.lower == whole.p99.lower);
  CHECK_THROWS_WITH(tensor::magnitudes(rows, sequences(3, 3), 5), "the groups do not have 12 rows");
  CHECK_THROWS_AS(tensor::magnitudes(torch::zeros({3, 2}, torch::kLong), sequences(3, 1), 5),
                  Error);
}

TEST_CASE("half precision gives what its values give in double") {
  torch::manual_seed(6);
  const auto rows = torch::randn({40, 32}).to(torch::kBFloat16);
  const double largest = largest_of(rows.to(torch::kDouble));
  const auto half = tensor::magnitudes(rows, sequences(20, 2), largest);
  const auto exact = tensor::magnitudes(rows.to(torch::kDouble), sequences(20, 2), largest);
  CHECK(half.median.value == exact.median.value);
  CHECK(half.lost_mxfp8.value == exact.lost_mxfp8.value);
  CHECK(half.channel_kurtosis.value == Approx(exact.channel_kurtosis.value));
}
