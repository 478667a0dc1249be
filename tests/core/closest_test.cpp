// SPDX-License-Identifier: Apache-2.0
#include "core/closest.h"

#include "support/catch.h"

using kappascope::closest;

TEST_CASE("the closest word is that of the fewest letters to change, add or leave out") {
  CHECK(closest("batch", {"rate", "batches", "watch"}) == "watch");
  CHECK(closest("xxab", {"ab", "xxabc"}) == "xxabc");
  CHECK(closest("abxx", {"ab", "abxxc"}) == "abxxc");
  CHECK(closest("abcdef", {"abcxyz", "abddef"}) == "abddef");
  CHECK(closest("ab", {"ba", "abc"}) == "abc");
  CHECK(closest("same", {"some", "same"}) == "same");
}

TEST_CASE("a setting is found by its last part") {
  CHECK(closest("stepps", {"model.width", "train.steps", "probes.every"}) == "train.steps");
  CHECK(closest("train.stepps", {"train.batch", "train.steps"}) == "train.steps");
}

TEST_CASE("what is farther than a third of the word and one letter is not close") {
  CHECK(closest("abc", {"xyz"}).empty());
  CHECK(closest("abc", {"axy"}) == "axy");
  CHECK(closest("abcdef", {"uvwxef"}).empty());
  CHECK(closest("abcdef", {"xyzdef"}) == "xyzdef");
  CHECK(closest("abc", {}).empty());
}
