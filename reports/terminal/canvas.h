// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reports/figures.h"

namespace kappascope::reports {

/// A panel of a figure in characters: lines in Braille dots, two by four a character.
class Canvas {
 public:
  Canvas(std::size_t columns, std::size_t rows, const Axis& x, const Axis& y);

  /// Its points joined by lines; a point that is not resolved is an "o", an infinite one an arrow
  /// at the edge, and a missing one a gap.
  void draw(const Series& series);
  /// A letter where the series ends.
  void mark_end(const Series& series, char letter);

  /// A text a row. `colours`: escape codes of the arms' colours.
  [[nodiscard]] std::vector<std::string> rows(bool colours) const;
  /// The row that a value stands in.
  [[nodiscard]] std::size_t row_of(double y) const;

 private:
  struct Cell {
    std::uint8_t dots = 0;
    char32_t mark = 0;
    std::size_t arm = 0;
  };
  struct Dot {
    long x = 0, y = 0;
  };
  [[nodiscard]] Dot dot_of(double x, double y) const;
  Cell* cell_of(Dot dot);
  void set(Dot dot, std::size_t arm);
  void put(Dot dot, char32_t mark, std::size_t arm);
  void join(Dot from, Dot to, std::size_t arm);

  std::size_t columns_, rows_;
  Axis x_, y_;
  std::vector<Cell> cells_;
};

}  // namespace kappascope::reports
