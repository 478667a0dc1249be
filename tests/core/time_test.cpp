// SPDX-License-Identifier: Apache-2.0
#include "core/time.h"

#include <limits>

#include "support/catch.h"

using namespace kappascope;

TEST_CASE("durations read as a person would say them") {
  CHECK(format_seconds(0.42) == "0.4 s");
  CHECK(format_seconds(10.6) == "11 s");
  CHECK(format_seconds(12.4) == "12 s");
  CHECK(format_seconds(59.4) == "59 s");
  CHECK(format_seconds(60) == "1 min 00 s");
  CHECK(format_seconds(185) == "3 min 05 s");
  CHECK(format_seconds(3599) == "59 min 59 s");
  CHECK(format_seconds(3600) == "1 h 00 min");
  CHECK(format_seconds(7800) == "2 h 10 min");
  CHECK(format_seconds(-1) == "?");
  CHECK(format_seconds(std::numeric_limits<double>::quiet_NaN()) == "?");
}

TEST_CASE("the time of day is ISO 8601 in UTC") {
  const auto now = utc_now();
  REQUIRE(now.size() == 20);
  CHECK(now[4] == '-');
  CHECK(now[10] == 'T');
  CHECK(now.back() == 'Z');
}

TEST_CASE("the monotonic clock does not go back") {
  const double before = monotonic_seconds();
  CHECK(monotonic_seconds() >= before);
}
