// SPDX-License-Identifier: Apache-2.0
#include "kappascope/core/memory.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "support/catch.h"

using namespace kappascope;

TEST_CASE("what is available shrinks by what is taken") {
  const auto before = available_memory();
  if (!before) {
    WARN("not tried: this system does not say what is available");
    return;
  }
  CHECK(*before > 0);
  // Others take and give too, so much more is taken than they are likely to.
  constexpr std::size_t kBytes = std::size_t{512} << 20;
  std::vector<char> held(kBytes);
  std::fill(held.begin(), held.end(), char{1});
  CHECK(*available_memory() < *before - static_cast<std::int64_t>(kBytes / 4));
}

TEST_CASE("the peak counts what was held and let go, until it is forgotten") {
  const auto before = resident_memory();
  if (!before || !forget_peak_memory()) {
    WARN("not tried: this system does not say what a process holds");
    return;
  }
  constexpr std::size_t kBytes = 64 << 20;
  {
    std::vector<char> held(kBytes);
    std::fill(held.begin(), held.end(), char{1});
    CHECK(resident_memory()->now >= before->now + static_cast<std::int64_t>(kBytes * 9 / 10));
  }
  const auto after = *resident_memory();
  CHECK(after.peak >= before->now + static_cast<std::int64_t>(kBytes * 9 / 10));
  REQUIRE(forget_peak_memory());
  CHECK(resident_memory()->peak < after.peak - static_cast<std::int64_t>(kBytes / 2));
}
