// SPDX-License-Identifier: Apache-2.0
#include "core/markdown.h"

#include <utility>

#include "support/catch.h"

using kappascope::markdown_cell;
using kappascope::markdown_text;

TEST_CASE("no text ends the cell of a Markdown table that it stands in") {
  CHECK(markdown_cell("a|b") == "a\\|b");
  CHECK(markdown_cell("a\nb\r\nc") == "a b  c");
  // A backslash before a bar takes the meaning of the other backslash, not of the bar.
  CHECK(markdown_cell("a\\|b") == "a\\\\\\|b");
  CHECK(markdown_cell("a\\") == "a\\");
  CHECK(markdown_cell("\\Sigma \\\\ x") == "\\Sigma \\\\ x");
}

TEST_CASE("no text makes a tag or a link in Markdown") {
  for (const auto& [text, written] :
       {std::pair("<script>x</script>", "\\<script>x\\</script>"),
        {"<!-- x", "\\<!-- x"},
        {"<b", "\\<b"},
        {"<", "<"},
        {"<?php", "\\<?php"},
        {"<javascript:x>", "\\<javascript:x>"},
        {"[x](javascript:y)", "[x]\\(javascript:y)"},
        {"![x](http://y)", "![x]\\(http://y)"},
        {"\\<b>", "\\\\\\<b>"},  // its backslash stays one of the text
        {"\x1b[2J\u202E", "\\x1b[2J\\xe2\\x80\\xae"}}) {
    CHECK(markdown_text(text) == written);
    CHECK(markdown_cell(text) == written);
  }
  // Mathematics stays as it is; a bar is one of a text, and not of a cell.
  for (const char* text :
       {"a < b", "a <= 5", "1 <2", "κ in [1, 2] (95 %)", "f[x] (y)", "\\Sigma (x)"})
    CHECK(markdown_text(text) == text);
  CHECK(markdown_text("a|b") == "a|b");
}
