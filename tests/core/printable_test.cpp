// SPDX-License-Identifier: Apache-2.0
#include "core/printable.h"

#include <fmt/format.h>

#include <string>

#include "support/catch.h"

using kappascope::printable;

TEST_CASE("letters of every alphabet are printed as they are") {
  for (const char* text : {"", "blocks.0.down_proj", "κ(Σ) ≥ 1", "é", "\U0001F600", "\uFFFD"}) {
    CHECK(printable(text) == text);
  }
}

TEST_CASE("nothing that a terminal obeys is printed") {
  CHECK(printable("a\x1b[2Jb") == "a\\x1b[2Jb");
  CHECK(printable("bell\a") == "bell\\x07");
  CHECK(printable("del\x7f") == "del\\x7f");
  CHECK(printable("c1 \xc2\x9b"
                  "31m") == "c1 \\xc2\\x9b31m");
  CHECK(printable("\xc2\xa0") == "\xc2\xa0");  // the first character above them
  CHECK(printable(std::string("a\0b", 3)) == "a\\x00b");
}

TEST_CASE("no mark changes the order of letters or begins a line") {
  for (const char* mark : {"\u061C",
                           "\u200E",
                           "\u200F",
                           "\u2028",
                           "\u2029",
                           "\u202A",
                           "\u202B",
                           "\u202C",
                           "\u202D",
                           "\u202E",
                           "\u2066",
                           "\u2067",
                           "\u2068",
                           "\u2069"}) {
    std::string written;
    for (const char* c = mark; *c != 0; ++c)
      written += fmt::format("\\x{:02x}", static_cast<unsigned char>(*c));
    CHECK(printable(std::string("a") + mark + "b") == "a" + written + "b");
  }
  // Their neighbours are letters and spaces of some language.
  for (const char* text :
       {"\u061B", "\u061D", "\u200D", "\u2010", "\u2027", "\u202F", "\u2065", "\u206A"})
    CHECK(printable(text) == text);
}

TEST_CASE("a text of several lines is printed on one") {
  CHECK(printable("one\ntwo\r\nthree\tfour") == "one two  three four");
}

TEST_CASE("the lines of a text stay lines") {
  using kappascope::printable_lines;
  for (const char* text : {"", "\n", "one", "one\n", "one\ntwo", "one\n\ntwo\n"})
    CHECK(printable_lines(text) == text);
  CHECK(printable_lines("a\x1b[2J\r\nb\u202E\n") == "a\\x1b[2J \nb\\xe2\\x80\\xae\n");
}

TEST_CASE("a value that is text begins no line, unless it is lines") {
  using kappascope::Lines;
  using kappascope::printable_format;
  const std::string text = "a\nb\x1b";
  CHECK(printable_format("{:.1f}\n{}\n", 2.0, text) == "2.0\na b\\x1b\n");
  CHECK(printable_format("{:<7}|{:>3}", text.c_str(), "\n") == "a b\\x1b|   ");
  CHECK(printable_format("{}", Lines{text + "\n"}) == "a\nb\\x1b\n");
  CHECK(printable_format("{}", text.substr(0, 2)) == "a ");
}

TEST_CASE("bytes that are no UTF-8 are printed as numbers") {
  CHECK(printable("\xff") == "\\xff");
  CHECK(printable("\xc3") == "\\xc3");           // ends early
  CHECK(printable("\xc3(") == "\\xc3(");         // no continuation
  CHECK(printable("\xc0\xaf") == "\\xc0\\xaf");  // longer than needed
  CHECK(printable("\xe0\x80\xaf") == "\\xe0\\x80\\xaf");
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // a surrogate
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
  CHECK(printable("\xf0\x9f\x98") == "\\xf0\\x9f\\x98");
  CHECK(printable("\xf0\x80\x80\xaf") == "\\xf0\\x80\\x80\\xaf");
  CHECK(printable("\xe1\x80") == "\\xe1\\x80");
}

TEST_CASE("the first and the last character of each length are printed as they are") {
  for (const char* text :
       {"\u0800", "\uD7FF", "\uE000", "\uFFFF", "\U00010000", "\U0003FFFF", "\U0010FFFF"}) {
    CHECK(printable(text) == text);
  }
}
