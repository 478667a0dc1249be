// SPDX-License-Identifier: Apache-2.0
#include "store/evidence.h"

#include "support/catch.h"

using kappascope::store::how_sure;

TEST_CASE("what a verdict rests on is said by route, cases, sizes and proof") {
  CHECK(how_sure({.outcome = "holds", .proof = "x", .sizes = "d = 1", .cases = "3"}).empty());
  CHECK(how_sure({.outcome = "holds", .route = "exact"}) == "searched: exact");
  CHECK(how_sure({.outcome = "holds", .sizes = "d = 1", .route = "exact", .cases = "3"}) ==
        "searched: exact, 3 cases, d = 1");
  CHECK(how_sure({.outcome = "holds under a condition",
                  .proof = "PROOFS.md 4",
                  .route = "exact",
                  .cases = "3"}) == "proved (PROOFS.md 4); exact, 3 cases");
  CHECK(how_sure({.outcome = "refuted", .route = "search", .cases = "3"}) ==
        "witness: search, 3 cases");
  CHECK(how_sure({.outcome = "refuted", .route = "a witness"}) == "a witness");
  CHECK(how_sure({.outcome = "holds", .proof = "x", .route = "study"}) == "study");
  CHECK(how_sure({.outcome = "measured", .route = "measured run"}) == "measured run");
}
