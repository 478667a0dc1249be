// SPDX-License-Identifier: Apache-2.0
#include "lab/report/forest.h"

#include <limits>

#include "support/catch.h"

using namespace kappascope::study;
using Catch::Contains;
using kappascope::reports::forest_table;

namespace {

Comparison difference(const std::string& arm, double mean, double lower, double upper) {
  Comparison one;
  one.metric = "loss/test";
  one.condition = "rate 1";
  one.arm = arm;
  one.control = "no bias";
  one.control_median = 2;
  one.difference = {.pairs = 5, .mean = mean, .lower = lower, .upper = upper};
  return one;
}

std::string table(const std::vector<Comparison>& comparisons) {
  StudyResult result{.name = "a-study"};
  result.comparisons = comparisons;
  return forest_table({result});
}

}  // namespace

TEST_CASE("a difference is drawn to scale, and read beside what matters") {
  CHECK_THAT(table({difference("A", -0.05, -0.075, -0.025)}),
             Contains("| a-study | rate 1 | A − no bias | -2.50 % | -3.75 to -1.25 | "
                      "`     [----o----]:   |   :                ` | lower |"));
  CHECK_THAT(
      table({difference("A", 0.005, -0.005, 0.015)}),
      Contains("`                :  [|o-]:                ` | no difference that matters |"));
  CHECK_THAT(table({difference("A", 0.05, 0.025, 0.075)}), Contains("| higher |"));
  CHECK_THAT(table({difference("A", 0.01, -0.03, 0.05)}), Contains("| open |"));
}

TEST_CASE("what lies beyond the axis is cut off, and what has no interval is left out") {
  CHECK_THAT(table({difference("A", -0.4, -0.5, -0.02)}),
             Contains("`<------") && Contains("| lower |"));
  CHECK_THAT(table({difference("A", 0.02, -0.02, 0.5)}), Contains("----->` | open |"));
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  CHECK(table({difference("A", -0.4, kNaN, kNaN)}).empty());
  auto other = difference("A", -0.4, -0.5, -0.02);
  other.metric = "accuracy/test";
  CHECK(table({other}).empty());
}
