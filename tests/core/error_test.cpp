// SPDX-License-Identifier: Apache-2.0
#include "core/require.h"
#include "support/catch.h"

using kappascope::Error;
using kappascope::require;

TEST_CASE("require throws an Error whose message joins the pieces") {
  REQUIRE_NOTHROW(require(true, "never said"));
  REQUIRE_THROWS_WITH(require(false, "covariance must be square, got {} x {}", 3, 2),
                      "covariance must be square, got 3 x 2");
}

TEST_CASE("wrong usage is an Error that can be told apart") {
  REQUIRE_THROWS_AS(throw kappascope::UsageError("unknown option"), Error);
}
