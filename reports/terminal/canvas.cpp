// SPDX-License-Identifier: Apache-2.0
#include "reports/terminal/canvas.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace kappascope::reports {
namespace {

constexpr long kDotsAcross = 2;
constexpr long kDotsDown = 4;
constexpr char32_t kBraille = 0x2800;

/// Of the 256 that terminals have, those nearest to the colours of the page that can be read on
/// black and on white.
constexpr std::array<int, 8> kColours = {32, 166, 36, 169, 136, 245, 98, 130};

std::string utf8(char32_t code) {
  if (code < 0x80) return {static_cast<char>(code)};
  return {static_cast<char>(0xE0 | (code >> 12)),
          static_cast<char>(0x80 | ((code >> 6) & 0x3F)),
          static_cast<char>(0x80 | (code & 0x3F))};
}

/// 0 at the axis' beginning, 1 at its end; what lies far outside is near them all the same. Not by
/// quotients: those of two numbers of an axis may be infinite.
double share_of(double value, const Axis& axis) {
  const double share =
      axis.log ? (std::log(value) - std::log(axis.min)) / (std::log(axis.max) - std::log(axis.min))
               : (value - axis.min) / (axis.max - axis.min);
  return std::clamp(share, -1.0, 2.0);
}

}  // namespace

Canvas::Canvas(std::size_t columns, std::size_t rows, const Axis& x, const Axis& y)
    : columns_(columns), rows_(rows), x_(x), y_(y), cells_(columns * rows) {}

Canvas::Dot Canvas::dot_of(double x, double y) const {
  const auto width = static_cast<double>(kDotsAcross * static_cast<long>(columns_) - 1);
  const auto height = static_cast<double>(kDotsDown * static_cast<long>(rows_) - 1);
  return {std::lround(share_of(x, x_) * width), std::lround((1 - share_of(y, y_)) * height)};
}

Canvas::Cell* Canvas::cell_of(Dot dot) {
  const long column = dot.x / kDotsAcross;
  const long row = dot.y / kDotsDown;
  if (dot.x < 0 || dot.y < 0 || column >= static_cast<long>(columns_) ||
      row >= static_cast<long>(rows_))
    return nullptr;
  return &cells_[static_cast<std::size_t>(row) * columns_ + static_cast<std::size_t>(column)];
}

void Canvas::set(Dot dot, std::size_t arm) {
  // The bits of Unicode's Braille patterns, by row and column.
  static constexpr std::array<std::array<std::uint8_t, 2>, 4> kBits = {
      {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}};
  Cell* cell = cell_of(dot);
  if (cell == nullptr) return;
  cell->dots |= kBits[static_cast<std::size_t>(dot.y % kDotsDown)]
                     [static_cast<std::size_t>(dot.x % kDotsAcross)];
  cell->arm = arm;
}

void Canvas::put(Dot dot, char32_t mark, std::size_t arm) {
  Cell* cell = cell_of(dot);
  if (cell == nullptr) return;
  cell->mark = mark;
  cell->arm = arm;
}

void Canvas::join(Dot from, Dot to, std::size_t arm) {
  const long steps = std::max({std::labs(to.x - from.x), std::labs(to.y - from.y), 1L});
  for (long i = 0; i <= steps; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(steps);
    set({from.x + std::lround(share * static_cast<double>(to.x - from.x)),
         from.y + std::lround(share * static_cast<double>(to.y - from.y))},
        arm);
  }
}

void Canvas::draw(const Series& series) {
  const long bottom = kDotsDown * static_cast<long>(rows_) - 1;
  Dot before;
  bool joined = false;  // to the one before
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    const double y = series.y[i];
    if (std::isnan(y) || (y_.log && y <= 0)) {
      joined = false;
      continue;
    }
    if (std::isinf(y)) {
      put({dot_of(series.x[i], y_.max).x, y > 0 ? 0 : bottom}, y > 0 ? U'▲' : U'▼', series.arm);
      joined = false;
      continue;
    }
    const Dot dot = dot_of(series.x[i], y);
    join(joined ? before : dot, dot, series.arm);
    if (series.hollow[i] != 0) put(dot, U'o', series.arm);
    before = dot;
    joined = true;
  }
}

void Canvas::mark_end(const Series& series, char letter) {
  for (std::size_t i = series.x.size(); i-- > 0;) {
    if (!std::isfinite(series.y[i]) || (y_.log && series.y[i] <= 0)) continue;
    // Beside the letters that stand there already.
    Dot dot = dot_of(series.x[i], series.y[i]);
    for (const Cell* cell = cell_of(dot);
         cell != nullptr && cell->mark >= U'A' && cell->mark <= U'Z';
         cell = cell_of(dot))
      dot.x -= kDotsAcross;
    put(dot, static_cast<unsigned char>(letter), series.arm);
    return;
  }
}

std::size_t Canvas::row_of(double y) const {
  const long row = dot_of(x_.min, y).y / kDotsDown;
  return static_cast<std::size_t>(std::clamp(row, 0L, static_cast<long>(rows_) - 1));
}

std::vector<std::string> Canvas::rows(bool colours) const {
  std::vector<std::string> out;
  for (std::size_t r = 0; r < rows_; ++r) {
    std::string line;
    std::size_t blanks = 0;
    for (std::size_t c = 0; c < columns_; ++c) {
      const Cell& cell = cells_[r * columns_ + c];
      if (cell.dots == 0 && cell.mark == 0) {
        ++blanks;
        continue;
      }
      line += std::string(std::exchange(blanks, 0), ' ');
      const auto text = utf8(cell.mark != 0 ? cell.mark : kBraille + cell.dots);
      line += colours ? fmt::format(
                            "\x1b[38;5;{}m{}\x1b[0m", kColours[cell.arm % kColours.size()], text)
                      : text;
    }
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace kappascope::reports
