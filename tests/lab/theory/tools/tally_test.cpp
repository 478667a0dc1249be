// SPDX-License-Identifier: Apache-2.0
#include "theory/tools/tally.h"

#include <limits>

#include "support/catch.h"

using namespace kappascope::theory;

namespace {

Verdict verdict(const Tally& tally) {
  return tally.verdict("left", "right", "exact");
}

}  // namespace

TEST_CASE("no case at all decides nothing") {
  CHECK(verdict(Tally()).outcome == Outcome::kUndecided);
}

TEST_CASE("agreement in every case holds and shows one of them") {
  Tally tally;
  tally.compare(0, 0, [] { return "zero"; });
  tally.compare({1, 2}, {1, 2}, [] { return "half"; });
  const auto found = verdict(tally);
  CHECK(found.outcome == Outcome::kHolds);
  CHECK(found.cases == 2);
  CHECK(found.measured == 0.5);
  CHECK(found.predicted == 0.5);
  CHECK(found.margin == 0);
  CHECK(found.witness.empty());
}

TEST_CASE("the first exact disagreement is the witness") {
  Tally tally;
  tally.compare(1, 1, [] { return "agrees"; });
  tally.compare(2, 3, [] { return "small"; });
  tally.compare(20, 30, [] { return "large"; });
  const auto found = verdict(tally);
  CHECK(found.outcome == Outcome::kRefuted);
  CHECK(found.witness == "small");
  CHECK(found.measured == 2);
  CHECK(found.predicted == 3);
  CHECK(found.margin == 1);
}

TEST_CASE("rounding alone never refutes, it leaves undecided") {
  Tally tally;
  tally.compare_rounded(1, 1 + 1e-15, 1, 1e-14);
  CHECK(verdict(tally).outcome == Outcome::kHolds);
  CHECK(verdict(tally).margin == Approx(1e-15).epsilon(0.2));
  CHECK(verdict(tally).tolerance == 1e-14);
  tally.compare_rounded(std::numeric_limits<double>::quiet_NaN(), 1, 1, 1e-14);
  CHECK(verdict(tally).outcome == Outcome::kUndecided);
}

TEST_CASE("a conjunction is refuted by one part, else undecided by one part") {
  Verdict holds, undecided, refuted;
  holds.outcome = Outcome::kHolds;
  holds.cases = 3;
  holds.margin = 1e-15;
  refuted.outcome = Outcome::kRefuted;
  refuted.cases = 2;
  refuted.margin = 1;
  refuted.witness = "x = 1";
  CHECK(conjunction({holds, holds}).outcome == Outcome::kHolds);
  CHECK(conjunction({holds, holds}).cases == 6);
  CHECK(conjunction({holds, undecided}).outcome == Outcome::kUndecided);
  const auto whole = conjunction({holds, undecided, refuted, refuted});
  CHECK(whole.outcome == Outcome::kRefuted);
  CHECK(whole.margin == 1);
  CHECK(whole.witness == "x = 1 | x = 1");
}

TEST_CASE("a verdict says from where to where the sizes of its cases went") {
  Tally small, large;
  small.sizes({{"d", 2}, {"tokens", 3}});
  small.compare(1, 1, [] { return "one"; });
  small.sizes({{"d", 1}});
  small.compare(1, 1, [] { return "one"; });
  large.sizes({{"d", 5}});
  large.compare(1, 1, [] { return "one"; });
  CHECK(kappascope::study::to_string(verdict(small).extents) == "d = 1 to 2, tokens = 3");
  CHECK(kappascope::study::to_string(conjunction({verdict(small), verdict(large)}).extents) ==
        "d = 1 to 5, tokens = 3");
  CHECK(kappascope::study::to_string(verdict(Tally()).extents).empty());
}
