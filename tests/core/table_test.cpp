// SPDX-License-Identifier: Apache-2.0
#include "core/table.h"

#include <random>
#include <sstream>

#include "core/wrap.h"
#include "support/catch.h"

using namespace kappascope;

TEST_CASE("columns are aligned, and a row that is too wide goes on below, uncut") {
  const Rows rows = {{"arm", "median", "found"}, {"no bias", "1.5", "lower"}, {"κ", "10", "x"}};
  CHECK(table_text(rows, 80) ==
        "  arm      median  found\n"
        "  no bias     1.5  lower\n"
        "  κ            10  x\n");
  CHECK(table_text(rows, 20) ==
        "  arm      median\n    found\n"
        "  no bias     1.5\n    lower\n"
        "  κ            10\n    x\n");
  // What goes on below is filled up to the width, and no further.
  const Rows wide = {{"a long name", "b", "c", "d"}};
  CHECK(table_text(wide, 11) == "  a long name\n    b  c  d\n");
  CHECK(table_text(wide, 10) == "  a long name\n    b  c\n    d\n");
  CHECK(table_text({}, 80).empty());
}

TEST_CASE("no line is wider than the terminal where every cell fits, and no cell is lost") {
  std::mt19937 random(5);
  const auto draw = [&](int most) { return std::uniform_int_distribution<int>(1, most)(random); };
  for (int drawn = 0; drawn < 200; ++drawn) {
    Rows rows(draw(4), std::vector<std::string>(draw(9)));
    for (auto& row : rows)
      for (auto& cell : row) cell = std::string(draw(25), static_cast<char>('a' + draw(20)));
    const std::size_t width = 30 + draw(100);
    const auto text = table_text(rows, width);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) CHECK(characters(line) <= width);
    std::istringstream words(text);
    for (const auto& row : rows) {
      for (const auto& cell : row) {
        std::string word;
        words >> word;
        CHECK(word == cell);
      }
    }
  }
}
