// SPDX-License-Identifier: Apache-2.0
#include "session/snapshot_state.h"

#include <cmath>
#include <limits>

#include "kappascope/core/error.h"
#include "support/catch.h"
#include "tensor/state_bytes.h"

using namespace kappascope;

TEST_CASE("what was measured in another process arrives whole") {
  store::Snapshot sent;
  sent.step = 7;
  sent.scalars.push_back({.name = "kappa/sigma",
                          .layer = "blocks.0.down_proj",
                          .value = 12.5,
                          .lower = 10,
                          .upper = std::numeric_limits<double>::infinity(),
                          .n = 100,
                          .status = store::Status::parse("not_resolvable"),
                          .attributes = {{"route", "dense"}, {"budget", "0.01"}}});
  sent.scalars.push_back({.name = "features/isotropy",
                          .value = std::numeric_limits<double>::quiet_NaN(),
                          .status = store::Status::kNonFinite});
  sent.arrays.push_back({"hessian/density", "", {2, 3}, {1, 2, 3, 4, 5, 6}});
  sent.arrays.push_back({"user/number", "layer", {}, {4}});
  sent.events.push_back({"note", "two\nlines"});
  store::Snapshot got;
  got.step = 9;
  got.scalars.push_back({.name = "loss/train"});
  session::append(tensor::from_bytes(tensor::to_bytes(session::state_of(sent))), got);
  CHECK(got.step == 9);
  REQUIRE(got.scalars.size() == 3);
  const auto& scalar = got.scalars[1];
  CHECK(scalar.name == "kappa/sigma");
  CHECK(scalar.layer == "blocks.0.down_proj");
  CHECK(scalar.value == 12.5);
  CHECK(scalar.lower == 10);
  CHECK(scalar.upper == std::numeric_limits<double>::infinity());
  CHECK(scalar.n == 100);
  CHECK_FALSE(scalar.n_effective);
  CHECK(scalar.status == store::Status::parse("not_resolvable"));
  CHECK(scalar.attributes == sent.scalars[0].attributes);
  CHECK(std::isnan(got.scalars[2].value));
  CHECK(got.scalars[2].status == store::Status::kNonFinite);
  REQUIRE(got.arrays.size() == 2);
  CHECK(got.arrays[0].shape == std::vector<std::int64_t>{2, 3});
  CHECK(got.arrays[0].data == sent.arrays[0].data);
  CHECK(got.arrays[1].shape.empty());
  CHECK(got.arrays[1].layer == "layer");
  REQUIRE(got.events.size() == 1);
  CHECK(got.events[0].message == "two\nlines");
}

TEST_CASE("a process that measured nothing adds nothing") {
  store::Snapshot got;
  session::append(tensor::from_bytes(tensor::to_bytes(session::state_of({}))), got);
  CHECK(got.scalars.empty());
  CHECK(got.arrays.empty());
  CHECK(got.events.empty());
}
