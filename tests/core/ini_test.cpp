// SPDX-License-Identifier: Apache-2.0
#include "core/ini.h"

#include "kappascope/core/error.h"
#include "support/catch.h"

using namespace kappascope;
using Catch::Contains;

TEST_CASE("an INI file gives its settings in order, with sections in front of the names") {
  const auto settings = parse_ini(
      "label = my run  # a comment\n\n# another\n[train]\n\t steps = 12 \t\nsteps = 13\n  [a.b] "
      "\nc =\n"
      "d = x = y\n",
      "file.ini");
  const IniSettings expected = {{"label", "my run"},
                                {"train.steps", "12"},
                                {"train.steps", "13"},
                                {"a.b.c", ""},
                                {"a.b.d", "x = y"}};
  CHECK(settings == expected);
  CHECK(parse_ini("", "file.ini").empty());
  CHECK_THROWS_WITH(parse_ini("[train]\nsteps\n", "file.ini"),
                    Contains("file.ini") && Contains("'steps'"));
  CHECK_THROWS_AS(parse_ini("= 3\n", "file.ini"), UsageError);
}

TEST_CASE("settings as an INI file read back, the last of a name counting") {
  const IniSettings settings = {{"train.steps", "12"}, {"label", "a b"}, {"train.steps", "13"}};
  const auto text = to_ini(settings);
  CHECK(text == "label = a b\n[train]\nsteps = 13\n");
  CHECK(to_ini(parse_ini(text, "")) == text);
  CHECK_THROWS_AS(to_ini({{"label", "a\nb"}}), UsageError);
  CHECK_THROWS_AS(to_ini({{"label", "'a' # \"b\""}}), UsageError);
}

TEST_CASE("comments of either mark, quotation marks and a byte-order mark are no part of a value") {
  const auto settings = parse_ini(
      "\xef\xbb\xbflabel = a ; not this\n; nor this\n  ; nor that\r\n[train]\t; here\nsteps = "
      "12\t;x\n"
      "loss = \"mean; squared # \" # why\nnote='it \"is\"';\nempty = \"\"\nplain = a;b it's\n",
      "f");
  const IniSettings expected = {{"label", "a"},
                                {"train.steps", "12"},
                                {"train.loss", "mean; squared # "},
                                {"train.note", "it \"is\""},
                                {"train.empty", ""},
                                {"train.plain", "a;b it's"}};
  CHECK(settings == expected);
  for (const auto* line : {"a = \"x", "a = 'x\"", "a = \"x\" y", "a = '"}) {
    CAPTURE(line);
    CHECK_THROWS_WITH(parse_ini(line, "f"), Contains("f: ") && Contains("quotation mark"));
  }
}

TEST_CASE("any value on one line is read back as it was written") {
  // Every value of up to four of these letters.
  const std::string letters = "a #;'\" =[]\t";
  std::vector<std::string> values = {""};
  for (std::size_t begin = 0, length = 0; length < 4; ++length) {
    const auto end = values.size();
    for (; begin < end; ++begin) {
      for (const char letter : letters) values.push_back(values[begin] + letter);
    }
  }
  for (const auto& value : values) {
    const IniSettings settings = {{"train.label", value}};
    std::string text;
    try {
      text = to_ini(settings);
    } catch (const UsageError&) {
      const bool both =
          value.find('"') != std::string::npos && value.find('\'') != std::string::npos;
      if (!both) FAIL(value);
      continue;
    }
    if (parse_ini(text, "") != settings) FAIL(text);
  }
  CHECK(values.size() > 10000);
}

TEST_CASE("a setting in one word, and the first line in which two files differ") {
  CHECK(parse_setting("train.steps=12", "--set") == IniSettings::value_type{"train.steps", "12"});
  CHECK(parse_setting("name=a=b", "--set").second == "a=b");
  CHECK_THROWS_WITH(parse_setting("steps", "--set"), Contains("--set") && Contains("'steps'"));
  CHECK_THROWS_AS(parse_setting("=3", "--set"), UsageError);
  CHECK(first_difference("a = 1\nb = 2\n", "a = 1\nb = 2\n").empty());
  CHECK(first_difference("a = 1\nb = 2\n", "a = 1\nb = 3\n") == "'b = 2' there, 'b = 3' now");
  CHECK(first_difference("a = 1\n", "a = 1\nb = 3\n") == "nothing there, 'b = 3' now");
  CHECK(first_difference("a = 1\nb = 3\n", "a = 1\n") == "'b = 3' there, nothing now");
}

TEST_CASE("a setting that an INI file would give back as another is refused") {
  const auto read_back = [](const IniSettings& settings) {
    return parse_ini(to_ini(settings), "") == settings;
  };
  CHECK(read_back({{".a", "1"}, {"[b", "2"}}));
  CHECK(read_back({{"x ]", "]"}, {"a.[b", "2"}, {"a.b.c", "= d"}}));
  for (const auto& [name, value] : IniSettings{{"a. b", "1"},
                                               {"a.", "1"},
                                               {"a.[b", "1]"},
                                               {";a", "1"},
                                               {"a ;b", "1"},
                                               {"a=b", "1"},
                                               {"", "1"},
                                               {"a\nb", "1"},
                                               {"a\t;b", "1"},
                                               {"a#.b", "1"},
                                               {"a ;b.c", "1"},
                                               {"a\t;b.c", "1"},
                                               {"\xef\xbb\xbf"
                                                "a",
                                                "1"}}) {
    CAPTURE(name, value);
    CHECK_THROWS_AS(to_ini({{name, value}}), UsageError);
  }
}
