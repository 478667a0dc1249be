// SPDX-License-Identifier: Apache-2.0
#include "kappascope/core/markdown.h"

#include "support/catch.h"

using kappascope::markdown_cell;

TEST_CASE("no text ends the cell of a Markdown table that it stands in") {
  CHECK(markdown_cell("a|b") == "a\\|b");
  CHECK(markdown_cell("a\nb\r\nc") == "a b  c");
  // A backslash before a bar takes the meaning of the other backslash, not of the bar.
  CHECK(markdown_cell("a\\|b") == "a\\\\\\|b");
  CHECK(markdown_cell("a\\") == "a\\");
  CHECK(markdown_cell("\\Sigma \\\\ x") == "\\Sigma \\\\ x");
}
