// SPDX-License-Identifier: Apache-2.0
#include "kappascope/linalg/features/reservoir.h"

#include <algorithm>
#include <random>
#include <vector>

#include "kappascope/core/error.h"
#include "support/catch.h"
#include "support/matrices.h"

using kappascope::linalg::copies_of_a_row;
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

TEST_CASE("samples of different capacity, and states that contradict themselves, are refused") {
  Reservoir four(4, 1, 0);
  CHECK_THROWS_AS(four.merge(Reservoir(5, 1, 0)), kappascope::Error);
  CHECK_THROWS_AS(four.merge(Reservoir(4, 2, 0)), kappascope::Error);
  Reservoir::State state = four.state();
  state.seen = 3;
  CHECK_THROWS_AS(Reservoir(state), kappascope::Error);
  CHECK_THROWS_AS(Reservoir(-1, 1, 0), kappascope::Error);
}

TEST_CASE("copies of a row are counted, and chance agreements of a few values are not") {
  const RowMatrixF distinct = gaussian_matrix(256, 5, 1).cast<float>();
  CHECK(copies_of_a_row(distinct, 256) == 1);
  CHECK(copies_of_a_row(distinct.replicate(3, 1), 768) == Approx(3));
  CHECK(copies_of_a_row(RowMatrixF(0, 5), 0) == 1);
  // 512 of 5000 rows, each there five times: 105 pairs are expected, give or take 10, and 20 are
  // added: five times and 0.4 times more or less, and 0.8.
  std::mt19937_64 engine(2);
  const RowMatrixF thousand = gaussian_matrix(1000, 5, 3).cast<float>();
  std::vector<Eigen::Index> rows(5000);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<Eigen::Index>(i % 1000);
  std::shuffle(rows.begin(), rows.end(), engine);
  rows.resize(512);
  const double copies = copies_of_a_row(thousand(rows, Eigen::all), 5000);
  CHECK(copies > 4);
  CHECK(copies < 8);
  RowMatrixF signs = gaussian_matrix(512, 5, 4).cast<float>();
  signs = signs.array().sign();
  CHECK(copies_of_a_row(signs, 512) == 1);
}
