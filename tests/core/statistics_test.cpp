// SPDX-License-Identifier: Apache-2.0
#include "kappascope/core/statistics.h"

#include <boost/math/distributions/non_central_t.hpp>
#include <cmath>
#include <random>

#include "kappascope/core/error.h"
#include "support/catch.h"

using namespace kappascope;

TEST_CASE("an interval decides where it does not hold the limit") {
  CHECK(side_of(2, 3, 1.9) == Side::kAbove);
  CHECK(side_of(2, 3, 3.1) == Side::kBelow);
  for (const double limit : {2.0, 2.5, 3.0, std::nan("")})
    CHECK(side_of(2, 3, limit) == Side::kUndecided);
  CHECK(side_of(2, std::nan(""), 1) == Side::kAbove);
  CHECK(side_of(std::nan(""), 3, 1) == Side::kUndecided);
}

TEST_CASE("a paired difference agrees with the textbook's numbers") {
  // Student (1908), hours of sleep gained by ten patients under two drugs: t = 4.0621 on 9 degrees
  // of freedom, p = 0.00283, interval 0.70 to 2.46.
  const std::vector<double> first = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
  const std::vector<double> second = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};
  const auto found = paired_difference(second, first);
  CHECK(found.pairs == 10);
  CHECK(found.left_out == 0);
  CHECK(found.mean == Approx(1.58));
  CHECK(found.lower == Approx(0.7001142));
  CHECK(found.upper == Approx(2.4598858));
  CHECK(found.p == Approx(0.00283289));
  CHECK(found.effect == Approx(4.0621 / std::sqrt(10.0)).epsilon(1e-4));
  const auto turned = paired_difference(first, second);
  CHECK(turned.mean == -found.mean);
  CHECK(turned.p == Approx(found.p));
}

TEST_CASE("pairs that tell nothing are said to: none, one, all equal, and runs that diverged") {
  const double nan = std::nan("");
  CHECK(std::isnan(paired_difference({}, {}).mean));
  const std::vector<double> one = {2}, other = {1};
  CHECK(paired_difference(one, other).mean == 1);
  CHECK(std::isnan(paired_difference(one, other).lower));
  const std::vector<double> a = {1, 2, nan, 4}, b = {0, 1, 2, INFINITY};
  const auto found = paired_difference(a, b);
  CHECK(found.pairs == 2);
  CHECK(found.left_out == 2);
  // No spread: no interval, and no p tells how likely that is.
  CHECK(found.is_same_in_all());
  CHECK(std::isnan(found.lower));
  CHECK(std::isnan(found.detectable));
  CHECK(std::isnan(found.p));
  CHECK(paired_difference(a, a).p == 1);
  CHECK_FALSE(paired_difference(one, other).is_same_in_all());
  CHECK_THROWS_AS(paired_difference(a, one), Error);
}

TEST_CASE("differences that are equal but for the rounding of their terms do not spread") {
  const std::vector<double> a = {0.034, 0.048, 0.061, 1.917}, b = {0.033, 0.047, 0.06, 1.916};
  REQUIRE(a[0] - b[0] != a[3] - b[3]);
  const auto found = paired_difference(a, b);
  CHECK(found.is_same_in_all());
  CHECK(found.mean == Approx(0.001));
  CHECK(std::isnan(found.p));
  const std::vector<double> up = {0.1 + 0.2, 0.7}, down = {0.3, 0.7};
  CHECK(paired_difference(up, down).mean == 0);
  const std::vector<double> real = {0.034, 0.049};
  CHECK_FALSE(
      paired_difference(real, std::vector<double>(b.begin(), b.begin() + 2)).is_same_in_all());
}

TEST_CASE("a test at a level finds what is called detectable at it in four of five studies") {
  // The power of the two-sided test, by the noncentral t law. A quantile of the central one in its
  // place is off by less than 0.05; a one-sided level would be off by more.
  for (const int pairs : {6, 8, 20, 100}) {
    std::vector<double> a(static_cast<std::size_t>(pairs)), b(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = i % 2 == 0 ? 1.0 : -1.0;
    const auto found = paired_difference(a, b);
    const double error = 1 / std::sqrt(pairs - 1.0);
    for (const double level : {0.05, 0.01}) {
      const double reach = student_quantile(1 - level / 2, pairs - 1);
      const boost::math::non_central_t law(pairs - 1, found.detectable_at(level) / error);
      const double power = boost::math::cdf(boost::math::complement(law, reach));
      CHECK(power == Approx(0.8).margin(0.05));
    }
    CHECK(found.detectable == found.detectable_at(0.05));
  }
}

// 2,000 studies of 5 pairs: the share of intervals that miss has standard error 0.5 %, so that a
// right interval fails this test once in 10,000 seeds (4 standard errors).
TEST_CASE("the interval covers in 95 % of studies, and the detectable mean is found in 80 %") {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  const int studies = 2000, pairs = 5;
  int covered = 0, significant = 0;
  for (int study = 0; study < studies; ++study) {
    // For unit normal differences of 5 pairs (2.776 + 0.941) / sqrt 5 is detectable on average.
    const double truth = (2.776445 + 0.940965) / std::sqrt(5.0);
    std::vector<double> a, b;
    for (int i = 0; i < pairs; ++i) {
      const double common = 10 * normal(random);
      a.push_back(common + truth + normal(random) / std::sqrt(2.0));
      b.push_back(common + normal(random) / std::sqrt(2.0));
    }
    const auto found = paired_difference(a, b);
    covered += found.lower <= truth && truth <= found.upper ? 1 : 0;
    significant += found.p < 0.05 ? 1 : 0;
  }
  CHECK(std::abs(covered / static_cast<double>(studies) - 0.95) < 0.02);
  CHECK(significant / static_cast<double>(studies) > 0.75);
  CHECK(significant / static_cast<double>(studies) < 0.9);
}

TEST_CASE(
    "Holm's correction multiplies by what is left and never puts a smaller p behind a larger") {
  const std::vector<double> p = {0.04, 0.01, std::nan(""), 0.03, 0.9};
  const auto corrected = holm(p);
  CHECK(corrected[1] == Approx(0.04));
  CHECK(corrected[3] == Approx(0.09));
  CHECK(corrected[0] == Approx(0.09));
  CHECK(std::isnan(corrected[2]));
  CHECK(corrected[4] == Approx(0.9));
  CHECK(holm(std::vector<double>{0.7, 0.8})[0] == 1);
}

TEST_CASE("Benjamini and Hochberg's adjustment is that of their own example") {
  // Table 1 of Benjamini and Hochberg (1995): fifteen p-values, of which four are found at 5 %.
  const std::vector<double> p = {0.0001,
                                 0.0004,
                                 0.0019,
                                 0.0095,
                                 0.0201,
                                 0.0278,
                                 0.0298,
                                 0.0344,
                                 0.0459,
                                 0.3240,
                                 0.4262,
                                 0.5719,
                                 0.6528,
                                 0.7590,
                                 1.0000};
  const auto q = benjamini_hochberg(p);
  CHECK(std::ranges::count_if(q, [](double value) { return value <= 0.05; }) == 4);
  CHECK(q[0] == Approx(0.0015));
  CHECK(q[3] == Approx(0.0095 * 15 / 4));
  CHECK(q[4] == Approx(0.0201 * 15 / 5));
  CHECK(q[14] == 1);
  // Never a smaller one behind a larger, whatever the order, and a NaN stays and does not count.
  const auto mixed = benjamini_hochberg(std::vector<double>{0.04, std::nan(""), 0.039, 0.001});
  CHECK(mixed[0] == Approx(0.04));
  CHECK(mixed[2] == Approx(0.04));
  CHECK(mixed[3] == Approx(0.003));
  CHECK(std::isnan(mixed[1]));
}

TEST_CASE("the chance of differences above or below a size is Student's") {
  const std::vector<double> a = {1, 2, 3, 4}, b = {0, 0, 0, 0};
  const auto d = paired_difference(a, b);
  CHECK(2 * d.p_above(0) == Approx(d.p));
  CHECK(d.p_above(2.5) == Approx(0.5));
  CHECK(d.p_above(1) + d.p_below(1) == Approx(1));
  // The ends of the 95 % interval are where one side has 2.5 %.
  CHECK(d.p_above(d.lower) == Approx(0.025));
  CHECK(d.p_below(d.upper) == Approx(0.025));
  CHECK(std::isnan(paired_difference(b, b).p_above(0)));
}

TEST_CASE("a median is the middle of the finite values") {
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 2, 3}) == 2.5);
  CHECK(median({1, std::nan(""), 2, INFINITY}) == 1.5);
  CHECK(std::isnan(median({std::nan("")})));
  CHECK(std::isnan(median({})));
}

TEST_CASE("the ratio of variances has the interval of F") {
  // Variances 2.5 and 10; the quantiles of F(4, 4) at 2.5 % and 97.5 % are 1/9.6045 and 9.6045.
  const std::vector<double> a = {1, 2, 3, 4, 5}, b = {2, 4, 6, 8, 10};
  const auto found = variance_ratio(a, b);
  CHECK(found.ratio == Approx(0.25));
  CHECK(found.lower == Approx(0.25 / 9.6045).epsilon(1e-4));
  CHECK(found.upper == Approx(0.25 * 9.6045).epsilon(1e-4));
  // F(4, 4) has P(F <= f) = 3x² - 2x³, x = f/(1 + f): here x = 1/5.
  CHECK(found.p == Approx(2 * (3 * 0.04 - 2 * 0.008)));
  CHECK(std::isnan(variance_ratio(std::vector<double>{1}, b).ratio));
  CHECK(std::isinf(variance_ratio(a, std::vector<double>{1, 1, 1}).ratio));
}

TEST_CASE("the score interval satisfies its own equation at both ends") {
  const double share = 0.3, n = 20;
  const auto interval = wilson(share, n);
  for (const double end : {interval.lower, interval.upper}) {
    const double z = (share - end) / std::sqrt(end * (1 - end) / n);
    CHECK(std::abs(z) == Approx(1.959963984540054));
  }
}

TEST_CASE("the score interval is not empty at the ends and knows nothing without data") {
  CHECK(wilson(1, 3).lower < 0.6);
  CHECK(wilson(1, 3).upper == Approx(1));
  CHECK(wilson(0, 3).lower == Approx(0).margin(1e-12));
  CHECK(wilson(1, 1).lower == Approx(1 / (1 + std::pow(1.959963985, 2))));
  CHECK(wilson(0.5, 0).lower == 0);
  CHECK(wilson(0.5, 0).upper == 1);
}

TEST_CASE("a share of clusters is as certain as its clusters are") {
  // All alike within a cluster: five clusters are worth five observations, and less by Student's t.
  const std::vector<double> of(5, 100), hits = {100, 0, 100, 0, 0};
  const auto found = clustered_share(hits, of);
  CHECK(found.share == Approx(0.4));
  const double wider = student_quantile(0.975, 4) / normal_quantile(0.975);
  CHECK(found.n_effective == Approx(4 / (wider * wider)));
  CHECK(found.interval.lower == Approx(wilson(0.4, found.n_effective).lower));
  CHECK(found.interval.upper == Approx(wilson(0.4, found.n_effective).upper));
  // Clusters that are alike by chance know no more than their observations.
  CHECK(clustered_share(std::vector<double>(5, 40), of).n_effective == Approx(500));
  // None at all: as many observations as clusters, of those that have any.
  const std::vector<double> none(6, 0), some = {100, 100, 0, 100, 100, 100};
  CHECK(clustered_share(none, some).interval.upper == Approx(wilson(0, 5).upper));
  CHECK(clustered_share(some, some).interval.lower == Approx(wilson(1, 5).lower));
}

TEST_CASE("one cluster, or none, says nothing of a share") {
  const std::vector<double> one = {3}, of = {4}, none = {0};
  CHECK(clustered_share(one, of).share == 0.75);
  CHECK(clustered_share(one, of).interval.lower == 0);
  CHECK(clustered_share(one, of).interval.upper == 1);
  CHECK(std::isnan(clustered_share(none, none).share));
  CHECK(std::isnan(clustered_share({}, {}).share));
  CHECK_THROWS_AS(clustered_share(one, {}), Error);
}

TEST_CASE("the interval of a clustered share holds the truth") {
  // 400 draws at nominal 95 %: fewer than 366 hits have a chance of 0.2 %.
  std::mt19937 random(7);
  std::gamma_distribution<double> a(0.5), b(2);
  int hits = 0;
  for (int draw = 0; draw < 400; ++draw) {
    std::vector<double> with, of;
    for (int cluster = 0; cluster < 40; ++cluster) {
      const double x = a(random), y = b(random);  // x / (x + y) is Beta(1/2, 2): mean 1/5
      std::binomial_distribution<int> seen(30, x / (x + y));
      with.push_back(seen(random));
      of.push_back(30);
    }
    const auto found = clustered_share(with, of);
    hits += found.interval.lower <= 0.2 && 0.2 <= found.interval.upper ? 1 : 0;
  }
  CHECK(hits >= 366);
  CHECK(hits < 400);
}

TEST_CASE("quantiles agree with the tables") {
  CHECK(normal_quantile(0.975) == Approx(1.959963985).epsilon(1e-9));
  CHECK(normal_quantile(0.5) == Approx(0).margin(1e-12));
  CHECK(student_quantile(0.975, 1) == Approx(12.7062).epsilon(1e-5));
  CHECK(student_quantile(0.975, 30) == Approx(2.0423).epsilon(1e-4));
  CHECK(student_quantile(0.975, 120) == Approx(1.9799).epsilon(1e-4));
  CHECK(student_quantile(0.8, 4) == Approx(0.9410).epsilon(1e-3));
  CHECK(chi_squared_quantile(0.95, 1) == Approx(3.8415).epsilon(1e-4));
  CHECK(chi_squared_quantile(0.01, 10) == Approx(2.5582).epsilon(1e-4));
  // On either side of where Boost's series gives way.
  CHECK(chi_squared_quantile(0.99, 1.0001e8) / 1.0001e8 ==
        Approx(chi_squared_quantile(0.99, 0.9999e8) / 0.9999e8).epsilon(1e-7));
  CHECK(chi_squared_quantile(0.99, 1e12) / 1e12 - 1 == Approx(3.28995e-6).epsilon(1e-4));
}

TEST_CASE("a quantile without a distribution is no number, and one beyond 0 and 1 is refused") {
  CHECK(std::isnan(student_quantile(0.975, 0)));
  CHECK(std::isnan(student_quantile(0.975, -3)));
  CHECK(std::isnan(chi_squared_quantile(0.5, 0)));
  CHECK(std::isnan(chi_squared_quantile(0.5, INFINITY)));
  CHECK_THROWS_AS(normal_quantile(1), Error);
  CHECK_THROWS_AS(student_quantile(0, 3), Error);
  CHECK_THROWS_AS(chi_squared_quantile(std::nan(""), 3), Error);
}
