// SPDX-License-Identifier: Apache-2.0
#include "kappascope/linalg/random.h"

#include <array>
#include <cmath>

#include "support/catch.h"

using kappascope::linalg::Random;

TEST_CASE("SplitMix64 gives the numbers of its reference implementation") {
  Random random(1234567);
  CHECK(random.next() == 6457827717110365317ULL);
  CHECK(random.next() == 3203168211198807973ULL);
  CHECK(random.next() == 9817491932198370423ULL);
}

TEST_CASE("a generator made from a state continues the sequence") {
  Random random(7);
  random.normal();
  Random again(random.state());
  for (int i = 0; i < 10; ++i) CHECK(random.normal() == again.normal());
}

TEST_CASE("normals have the moments of a normal") {
  // Each bound is five standard errors wide: false alarm 6e-7 apiece over seeds.
  const int n = 200000;
  Random random(3);
  double m1 = 0;
  double m2 = 0;
  double m4 = 0;
  for (int i = 0; i < n; ++i) {
    const double x = random.normal();
    m1 += x / n;
    m2 += x * x / n;
    m4 += x * x * x * x / n;
  }
  CHECK(std::abs(m1) < 5 / std::sqrt(n));
  CHECK(std::abs(m2 - 1) < 5 * std::sqrt(2.0 / n));
  CHECK(std::abs(m4 - 3) < 5 * std::sqrt(96.0 / n));
}

TEST_CASE("numbers below a bound are uniform, for bounds that do not divide 2^64") {
  // Chi-squared with 6 degrees of freedom exceeds 38.3 with probability 1e-6.
  std::array<int, 7> counts{};
  Random random(11);
  const int n = 70000;
  for (int i = 0; i < n; ++i) ++counts[random.below(7)];
  double chi2 = 0;
  for (int count : counts) chi2 += std::pow(count - n / 7.0, 2) / (n / 7.0);
  CHECK(chi2 < 38.3);
  CHECK(random.below(1) == 0);
}
