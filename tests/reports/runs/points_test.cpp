// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/points.h"

#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <random>
#include <vector>

#include "support/catch.h"

namespace kappascope::reports {
namespace {

static_assert(std::random_access_iterator<Points::Iterator>);

bool equal(const store::StepValue& a, const store::StepValue& b) {
  const auto &s = a.scalar, &t = b.scalar;
  return a.step == b.step && (s.value == t.value || (std::isnan(s.value) && std::isnan(t.value))) &&
         s.name == t.name && s.layer == t.layer && s.lower == t.lower && s.upper == t.upper &&
         s.n == t.n && s.n_effective == t.n_effective && s.status == t.status &&
         s.attributes == t.attributes;
}

/// Neighbours agree in all but the value in three of four places.
std::vector<store::StepValue> drawn(unsigned seed) {
  std::mt19937 random(seed);
  const auto one_in = [&](int n) { return std::uniform_int_distribution(1, n)(random) == 1; };
  std::vector<store::StepValue> points;
  store::StepValue next{-3, {.name = "loss/train"}};
  const int size = std::uniform_int_distribution(0, 40)(random);
  for (int i = 0; i < size; ++i) {
    next.step += std::uniform_int_distribution(1, 9)(random);
    auto& scalar = next.scalar;
    scalar.value = one_in(6) ? std::nan("") : std::normal_distribution()(random);
    if (one_in(12)) scalar.lower = i;
    if (one_in(12)) scalar.upper = one_in(2) ? std::optional(1.0) : std::nullopt;
    if (one_in(20)) scalar.n = i;
    if (one_in(20)) scalar.n_effective = i;
    if (one_in(20)) scalar.status = one_in(2) ? store::Status::kResolved : store::Status::kOk;
    if (one_in(20)) scalar.attributes["k"] = std::to_string(i);
    points.push_back(next);
  }
  return points;
}

}  // namespace

TEST_CASE("points come back as they were put in, also where one was taken off") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    auto wanted = drawn(seed);
    Points points;
    for (const auto& point : wanted) points.push_back(point);
    CHECK(std::ranges::equal(points, wanted, equal));
    if (wanted.empty()) continue;
    CHECK(equal(points.front(), wanted.front()));
    CHECK(equal(points.back(), wanted.back()));
    auto other = wanted.back();
    other.scalar.layer = "blocks.0";
    points.pop_back();
    points.push_back(other);
    wanted.back() = other;
    CHECK(std::ranges::equal(points, wanted, equal));
    for (const auto& point : wanted) {
      const auto found = points.number_at(point.step);
      CHECK(found.has_value() == !std::isnan(point.scalar.value));
      if (found) CHECK(equal(*found, point));
    }
    CHECK_FALSE(points.number_at(wanted.back().step + 1));
    const auto last = std::find_if(wanted.rbegin(), wanted.rend(), [](const auto& point) {
      return !std::isnan(point.scalar.value);
    });
    const auto found = points.last_number();
    CHECK(found.has_value() == (last != wanted.rend()));
    if (found) CHECK(equal(*found, *last));
  }
}

TEST_CASE("a point of a number alone takes 16 bytes, and as many to grow into") {
  const auto used = [] { return ::mallinfo2().uordblks + ::mallinfo2().hblkhd; };
  constexpr std::int64_t kPoints = 1'000'000;
  const auto before = used();
  Points points;
  for (std::int64_t step = 0; step < kPoints; ++step)
    points.push_back({step, {.name = "loss/train", .value = 1.0 / static_cast<double>(step + 1)}});
  CHECK(used() - before < 36 * kPoints);
}

}  // namespace kappascope::reports
