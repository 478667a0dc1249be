// SPDX-License-Identifier: Apache-2.0
#include "core/wrap.h"

#include "support/catch.h"

using kappascope::characters;
using kappascope::wrapped;

TEST_CASE("characters are counted, not bytes") {
  CHECK(characters("") == 0);
  CHECK(characters("kappa") == 5);
  CHECK(characters("κ(Σ) ≥ 1") == 8);
}

TEST_CASE("lines are filled to the width and no further") {
  CHECK(wrapped("aa bb cc", {.width = 5}) == "aa bb\ncc\n");
  CHECK(wrapped("aa bb cc", {.width = 4}) == "aa\nbb\ncc\n");
  CHECK(wrapped("λλ λλ λλ", {.width = 5}) == "λλ λλ\nλλ\n");
  CHECK(wrapped("  aa \n bb ", {.width = 9}) == "aa bb\n");
  CHECK(wrapped("", {}) == "\n");
}

TEST_CASE("a paragraph goes on at its column and hangs at its indent") {
  CHECK(wrapped("aa bb cc", {.width = 8, .column = 3, .indent = 2}) == "aa bb\n  cc\n");
}

TEST_CASE("a word longer than the width stands on a line of its own") {
  CHECK(wrapped("a bbbbbb c", {.width = 4}) == "a\nbbbbbb\nc\n");
}
