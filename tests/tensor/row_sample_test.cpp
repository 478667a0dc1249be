// SPDX-License-Identifier: Apache-2.0
#include "tensor/row_sample.h"

#include <torch/types.h>

#include <map>
#include <numeric>
#include <set>

#include "kappascope/core/error.h"
#include "support/catch.h"

using namespace kappascope;

namespace {

/// Rows [sequences · tokens, 2]: their sequence and their place in it.
at::Tensor numbered(int64_t sequences, int64_t tokens, int64_t from = 0) {
  const auto sequence =
      torch::arange(from, from + sequences, torch::kDouble).repeat_interleave(tokens);
  const auto place = torch::arange(tokens, torch::kDouble).repeat({sequences});
  return torch::stack({sequence, place}, 1);
}

/// Rows kept of each sequence, as they say themselves.
std::map<int64_t, std::set<int64_t>> places_of(const tensor::RowSample& sample) {
  std::map<int64_t, std::set<int64_t>> places;
  const auto rows = sample.rows();
  for (int64_t i = 0; i < rows.size(0); ++i)
    places[rows[i][0].item<int64_t>()].insert(rows[i][1].item<int64_t>());
  return places;
}

void check_groups(const tensor::RowSample& sample) {
  const auto places = places_of(sample);
  const auto& groups = sample.group_rows();
  REQUIRE(groups.size() == places.size());
  std::size_t g = 0;
  for (const auto& [sequence, kept] : places)
    CHECK(groups[g++] == static_cast<int64_t>(kept.size()));
  CHECK(std::accumulate(groups.begin(), groups.end(), int64_t{0}) == sample.rows().size(0));
}

}  // namespace

TEST_CASE("below its capacity a sample keeps every row, in order") {
  tensor::RowSample sample(100);
  sample.update(numbered(4, 8), {}, 8);
  sample.update(numbered(2, 16, 4), {}, 16);
  CHECK(torch::equal(sample.rows(), torch::cat({numbered(4, 8), numbered(2, 16, 4)})));
  CHECK(sample.group_rows() == std::vector<int64_t>{8, 8, 8, 8, 16, 16});
}

TEST_CASE("above it every sequence keeps the same share of its rows, spread over it") {
  tensor::RowSample sample(100);
  for (int64_t pass = 0; pass < 10; ++pass) sample.update(numbered(4, 16, 4 * pass), {}, 16);
  CHECK(sample.kept() <= 100);
  check_groups(sample);
  const auto places = places_of(sample);
  CHECK(places.size() == 40);
  for (const auto& [sequence, kept] : places) {
    CHECK(kept.size() == 2);
    CHECK(*kept.rbegin() - *kept.begin() >= 4);
  }
}

TEST_CASE("where a row of each would be too many, sequences are left out evenly") {
  tensor::RowSample sample(10);
  for (int64_t pass = 0; pass < 16; ++pass) sample.update(numbered(4, 8, 4 * pass), {}, 8);
  CHECK(sample.kept() <= 10);
  CHECK(sample.kept() >= 5);
  check_groups(sample);
  const auto places = places_of(sample);
  CHECK(places.begin()->first < 8);
  CHECK(places.rbegin()->first >= 56);
}

TEST_CASE("masked rows are not kept, and a sequence of them does not count") {
  tensor::RowSample sample(100);
  auto mask = torch::ones({4, 8}, torch::kBool);
  mask[1] = false;
  mask[2].narrow(0, 3, 5) = false;
  sample.update(numbered(4, 8), mask.view({-1}), 8);
  CHECK(sample.group_rows() == std::vector<int64_t>{8, 3, 8});
  CHECK(places_of(sample)[2] == std::set<int64_t>{0, 1, 2});
}

TEST_CASE("what was kept is a copy, and a saved sample goes on as the one that was not") {
  auto rows = numbered(4, 8);
  tensor::RowSample sample(20, 5), saved(1);
  sample.update(rows, {}, 8);
  rows.zero_();
  CHECK(places_of(sample).size() == 4);
  saved.load(sample.state(), 2);
  for (auto* one : {&sample, &saved}) one->update(numbered(4, 8, 4), {}, 8);
  CHECK(torch::equal(sample.rows(), saved.rows()));
  CHECK(sample.group_rows() == saved.group_rows());
  CHECK_THROWS_AS(saved.load(sample.state(), 3), Error);
  auto state = sample.state();
  state.set("group_rows", torch::tensor({3, 3}, torch::kLong));
  CHECK_THROWS_AS(saved.load(state, 2), Error);
  state = sample.state();
  state.set("rows_stride", std::int64_t{0});
  CHECK_THROWS_AS(saved.load(state, 2), Error);
}

TEST_CASE("two samples come together, within the capacity") {
  tensor::RowSample a(64), b(64), empty(64);
  a.update(numbered(4, 16), {}, 16);
  b.update(numbered(4, 16, 4), {}, 16);
  a.merge(empty);
  CHECK(a.kept() == 64);
  a.merge(b);
  CHECK(a.kept() == 64);
  check_groups(a);
  CHECK(places_of(a).size() == 8);
  empty.merge(b);
  CHECK(torch::equal(empty.rows(), b.rows()));
  b.limit(16);
  CHECK(b.kept() == 16);
}

TEST_CASE("a sample of nothing, and sequences that do not divide the rows, are errors") {
  CHECK_THROWS_AS(tensor::RowSample(0), Error);
  tensor::RowSample sample(10);
  CHECK_THROWS_AS(sample.rows(), Error);
  CHECK_THROWS_AS(sample.update(numbered(1, 7), {}, 2), Error);
}
