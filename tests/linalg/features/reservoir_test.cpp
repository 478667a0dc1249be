// SPDX-License-Identifier: Apache-2.0
#include "kappascope/linalg/features/reservoir.h"

#include <algorithm>
#include <random>
#include <vector>

#include "kappascope/core/error.h"
#include "support/catch.h"
#include "support/matrices.h"

using kappascope::linalg::different_rows;
using kappascope::linalg::Reservoir;
using kappascope::linalg::RowMatrixF;
using kappascope::test::gaussian_matrix;

namespace {

/// Offers the numbers first, …, first + count - 1 as rows of width one.
void offer(Reservoir& reservoir, std::int64_t first, std::int64_t count) {
  for (const auto [source, slot] : reservoir.choose(count)) {
    reservoir.put(slot, Eigen::RowVectorXf::Constant(1, static_cast<float>(first + source)));
  }
}

/// How often each number of the stream was kept, against the same share for all.
double chi_squared(const std::vector<int>& counts, double expected) {
  double chi2 = 0;
  for (int count : counts) chi2 += (count - expected) * (count - expected) / expected;
  return chi2;
}

}  // namespace

TEST_CASE("a stream shorter than the capacity is kept whole and in order") {
  Reservoir reservoir(8, 1, 0);
  offer(reservoir, 0, 3);
  offer(reservoir, 3, 2);
  REQUIRE(reservoir.rows().rows() == 5);
  for (int i = 0; i < 5; ++i) CHECK(reservoir.rows()(i, 0) == static_cast<float>(i));
}

TEST_CASE("a capacity of zero keeps nothing and still counts") {
  Reservoir reservoir(0, 1, 0);
  offer(reservoir, 0, 100);
  CHECK(reservoir.rows().rows() == 0);
  CHECK(reservoir.state().seen == 100);
}

TEST_CASE("every row of the stream, and of merged streams of unequal length, is equally likely") {
  // 40 cells, fixed total: chi-squared with at most 39 degrees of freedom (less: no replacement);
  // it exceeds 90.5 with probability below 5e-6 over seeds.
  std::vector<int> whole(40);
  std::vector<int> merged(40);
  const int repeats = 4000;
  for (int seed = 0; seed < repeats; ++seed) {
    Reservoir one(5, 1, seed);
    offer(one, 0, 13);
    offer(one, 13, 27);
    for (Eigen::Index i = 0; i < 5; ++i) ++whole[static_cast<std::size_t>(one.rows()(i, 0))];
    Reservoir left(5, 1, 2 * seed);
    Reservoir right(5, 1, 2 * seed + 1);
    offer(left, 0, 3);
    offer(right, 3, 37);
    left.merge(right);
    REQUIRE(left.rows().rows() == 5);
    for (Eigen::Index i = 0; i < 5; ++i) ++merged[static_cast<std::size_t>(left.rows()(i, 0))];
  }
  CHECK(chi_squared(whole, repeats * 5 / 40.0) < 90.5);
  CHECK(chi_squared(merged, repeats * 5 / 40.0) < 90.5);
}

TEST_CASE("a reservoir made from a state keeps the same rows ever after") {
  Reservoir reservoir(4, 1, 9);
  offer(reservoir, 0, 10);
  Reservoir again(reservoir.state());
  offer(reservoir, 10, 50);
  offer(again, 10, 50);
  CHECK(reservoir.rows() == again.rows());
}

TEST_CASE("a stream that comes in pieces is sampled as one that comes at once") {
  Reservoir whole(6, 1, 4), pieces(6, 1, 4);
  offer(whole, 0, 200);
  for (int first = 0; first < 200; first += 25) offer(pieces, first, 25);
  CHECK(whole.rows() == pieces.rows());
}

TEST_CASE("samples that are joined one after another are drawn anew each time") {
  Reservoir all(4, 1, 1);
  std::vector<std::uint64_t> states{all.state().random};
  for (const std::uint64_t seed : {2, 3, 4}) {
    Reservoir other(4, 1, seed);
    offer(other, 0, 4);
    all.merge(other);
    CHECK(std::ranges::find(states, all.state().random) == states.end());
    states.push_back(all.state().random);
  }
}

TEST_CASE("samples of different capacity, and states that contradict themselves, are refused") {
  Reservoir four(4, 1, 0);
  CHECK_THROWS_AS(four.merge(Reservoir(5, 1, 0)), kappascope::Error);
  CHECK_THROWS_AS(four.merge(Reservoir(4, 2, 0)), kappascope::Error);
  Reservoir::State state = four.state();
  state.seen = 3;
  CHECK_THROWS_AS(Reservoir(state), kappascope::Error);
  CHECK_THROWS_AS(Reservoir(-1, 1, 0), kappascope::Error);
}

TEST_CASE("different rows are counted, and chance agreements of a few values are not") {
  const RowMatrixF distinct = gaussian_matrix(256, 5, 1).cast<float>();
  CHECK(different_rows(distinct, 256) == 256);
  CHECK(different_rows(distinct.replicate(3, 1), 768) == 256);
  CHECK(different_rows(RowMatrixF(0, 5), 0) == 0);
  RowMatrixF signs = gaussian_matrix(512, 5, 4).cast<float>();
  signs = signs.array().sign();
  CHECK(different_rows(signs, 512) == 512);
}

TEST_CASE("a sample tells rows that were repeated from a row that comes often") {
  std::mt19937_64 engine(2);
  const RowMatrixF all = gaussian_matrix(5000, 5, 3).cast<float>();
  // 512 of 5,000 rows, each there `copies` times; with a probability of `often` it is the first.
  const auto sample = [&](Eigen::Index copies, double often) {
    std::vector<Eigen::Index> rows(5000);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const bool first = std::uniform_real_distribution()(engine) < often;
      rows[i] = first ? 0 : static_cast<Eigen::Index>(i) / copies;
    }
    std::shuffle(rows.begin(), rows.end(), engine);
    rows.resize(512);
    return different_rows(all(rows, Eigen::all), 5000);
  };
  for (int i = 0; i < 20; ++i) {
    // Of 1,000 rows five times each about 82 are there twice, give or take 9, and 18 are added.
    const double five_times = sample(5, 0);
    CHECK(five_times > 650);
    CHECK(five_times < 1100);
    // Of 3,500 that differ and one that is there 1,500 times.
    const double one_often = sample(1, 0.3);
    CHECK(one_often > 3200);
    CHECK(one_often < 3900);
    CHECK(sample(1, 0) == 5000);
  }
}
