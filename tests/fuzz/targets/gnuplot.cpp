// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "fuzz/figures.h"
#include "reports/gnuplot/script.h"

namespace kappascope::fuzz {
namespace {

/// The script without what stands between quotes. Ends the program where a quoted text has a byte
/// that could mean something to gnuplot.
std::string commands_of(const std::string& script) {
  std::string commands;
  char quote = 0;
  for (std::size_t i = 0; i < script.size(); ++i) {
    const char c = script[i];
    if (quote == 0) {
      commands += c;
      if (c == '"' || c == '\'') quote = c;
      expect(c == '\n' || (c >= 0x20 && c < 0x7f), "commands are plain ASCII");
      expect(c != '`' && c != '@' && c != '#', "commands have no macro, comment or shell");
    } else if (c == quote) {
      commands += c;
      quote = 0;
    } else if (c == '\\') {
      expect(quote == '"' && i + 3 < script.size() &&
                 std::all_of(script.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                             script.begin() + static_cast<std::ptrdiff_t>(i) + 4,
                             [](char digit) { return digit >= '0' && digit <= '7'; }),
             "a backslash begins three octal digits");
      i += 3;
    } else {
      expect(c >= 0x20 && c < 0x7f && c != '`' && c != '@', "a text is plain ASCII");
    }
  }
  expect(quote == 0, "the last text ends");
  return commands;
}

void check_gnuplot(std::string_view bytes) {
  const auto commands = [&](bool plain) {
    Drawing drawing(bytes, plain);
    const auto format = static_cast<reports::FigureFormat>(drawing.input().below(3));
    const auto file = drawing.text();
    return commands_of(reports::gnuplot_script(drawing.arms, drawing.figure, format, file));
  };
  expect(commands(false) == commands(true),
         "the commands are those of the same figure in plain words");
}

const Registered kGnuplot({"gnuplot", check_gnuplot, drawing_seeds});

}  // namespace
}  // namespace kappascope::fuzz
