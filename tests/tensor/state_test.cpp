// SPDX-License-Identifier: Apache-2.0
#include "kappascope/tensor/state.h"

#include <torch/types.h>

#include <cmath>
#include <limits>

#include "support/catch.h"

using namespace kappascope;

TEST_CASE("what is set is read again, to the last bit") {
  tensor::State state;
  for (const auto value : {std::numeric_limits<std::int64_t>::min(),
                           std::int64_t{0},
                           std::numeric_limits<std::int64_t>::max()}) {
    state.set("integer", value);
    CHECK(state.integer("integer") == value);
  }
  for (const double value : {0.1, -1e-310, 1.7976931348623157e308, HUGE_VAL}) {
    state.set("number", value);
    CHECK(state.number("number") == value);
  }
  state.set("number", std::nan(""));
  CHECK(std::isnan(state.number("number")));
  state.set("text", std::string("a\"/\0b", 5));
  CHECK(state.text("text") == std::string("a\"/\0b", 5));
  const auto numbers = torch::arange(6, torch::kDouble).view({2, 3});
  state.set("tensor", numbers);
  CHECK(torch::equal(state.tensor("tensor", torch::kDouble, {2, -1}), numbers));
}

TEST_CASE("inner states keep apart what has the same name") {
  tensor::State first, second, outer;
  first.set("step", std::int64_t{1});
  second.set("step", std::int64_t{2});
  outer.set("a", first);
  outer.set("ab", second);
  CHECK(outer.has("a"));
  CHECK_FALSE(outer.has("step"));
  CHECK(outer.inner("a").integer("step") == 1);
  CHECK(outer.inner("ab").integer("step") == 2);
  CHECK(outer.integer("ab/step") == 2);
  CHECK_FALSE(outer.inner("b").has("step"));
}

TEST_CASE("what is not as expected is refused with its name and what is there") {
  tensor::State state;
  state.set("text", std::string("12x"));
  state.set("tensor", torch::zeros({2, 3}));
  CHECK_THROWS_WITH(state.integer("absent"), Catch::Contains("no 'absent'"));
  CHECK_THROWS_WITH(state.integer("text"), Catch::Contains("'text'") && Catch::Contains("12x"));
  CHECK_THROWS_WITH(state.number("text"), Catch::Contains("no number"));
  CHECK_THROWS_WITH(state.tensor("absent", torch::kFloat, {1}), Catch::Contains("'absent'"));
  const auto refused = Catch::Contains("Float [2, 3]");
  CHECK_THROWS_WITH(state.tensor("tensor", torch::kDouble, {2, 3}), refused);
  CHECK_THROWS_WITH(state.tensor("tensor", torch::kFloat, {3, 2}), refused);
  CHECK_THROWS_WITH(state.tensor("tensor", torch::kFloat, {2, 3, 1}), refused);
  state.set("integers", torch::zeros({2}, torch::kLong));
  CHECK_THROWS_WITH(state.floating_tensor("integers", {2}), Catch::Contains("Long"));
}
