// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/proposition1/gram_cases.h"

#include <algorithm>

#include "support/catch.h"
#include "theory/checks/proposition1/spectrum.h"
#include "theory/exact/linalg.h"

using namespace kappascope::theory;

TEST_CASE("each case has the spectrum and the coordinates that it says") {
  for (const auto& one : gram_cases(1)) {
    auto expected = std::vector<Rational>(one.lambda.begin(), one.lambda.end());
    REQUIRE(std::is_sorted(expected.rbegin(), expected.rend()));
    std::reverse(expected.begin(), expected.end());
    REQUIRE(integer_spectrum(one.sigma) == expected);
    // Moments of μ under powers of Σ fix |m_i|² wherever the eigenvalues differ.
    const Vector<Rational> moved = one.sigma * one.mu;
    const Vector<Rational> scaled = one.lambda.cwise_product(one.mean);
    REQUIRE(one.mu.dot(one.mu) == one.mean.dot(one.mean));
    REQUIRE(one.mu.dot(moved) == one.mean.dot(scaled));
    REQUIRE(moved.dot(moved) == scaled.dot(scaled));
  }
}

TEST_CASE("the cases hold every kind in number, and both answers of every condition") {
  const auto cases = gram_cases(1);
  const auto count = [&](const auto& is) { return std::count_if(cases.begin(), cases.end(), is); };
  const auto regular = [](const auto& one) { return one.rank() == one.dimension(); };
  const auto repeated_top = [](const auto& one) {
    return one.dimension() > 1 && one.lambda(0) == one.lambda(1) && one.lambda(0) > 0;
  };
  CHECK(cases.size() > 2500);
  CHECK(count([](const auto& one) { return one.dimension() == 1; }) > 300);
  CHECK(count([](const auto& one) { return one.dimension() == 5; }) > 300);
  CHECK(count([](const auto& one) { return one.rank() == 1 && one.dimension() > 1; }) > 300);
  CHECK(count([&](const auto& one) { return !regular(one); }) > 500);
  CHECK(count(repeated_top) > 300);
  CHECK(count([](const auto& one) { return !one.mean_in_range(); }) > 200);
  CHECK(count([](const auto& one) { return one.mean(0) == 0 && !one.mean_in_kernel(); }) > 200);
  CHECK(count([](const auto& one) { return top_grows(one); }) > 500);
  CHECK(count([](const auto& one) { return !top_grows(one) && !one.mean_in_kernel(); }) > 100);
  const auto falls = [&](const auto& one) {
    return regular(one) && !kappa_at_least(one, Convention::kInfinite);
  };
  CHECK(count(falls) > 200);
  CHECK(count([&](const auto& one) { return regular(one) && !falls(one); }) > 500);
}

TEST_CASE("one seed gives one list and another seed gives another") {
  const auto texts = [](std::uint64_t seed) {
    std::string all;
    for (const auto& one : gram_cases(seed)) all += one.text();
    return all;
  };
  CHECK(texts(1) == texts(1));
  CHECK(texts(1) != texts(2));
}
