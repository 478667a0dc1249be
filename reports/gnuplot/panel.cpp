// SPDX-License-Identifier: Apache-2.0
#include "reports/gnuplot/panel.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <cmath>
#include <string_view>

namespace kappascope::reports {
namespace {

std::string value_of(double v) {
  return std::isfinite(v) ? fmt::format("{:.9g}", v) : "NaN";
}

/// The colour mixed with white, as the number that gnuplot reads from a column.
long shade_of(const std::string& colour, double share) {
  long mixed = 0;
  for (const std::size_t at : {1U, 3U, 5U}) {
    const long part = std::stol(colour.substr(at, 2), nullptr, 16);
    mixed = mixed * 256 + std::lround(255 + static_cast<double>(part - 255) * share);
  }
  return mixed;
}

}  // namespace

std::string gnuplot_text(const std::string& text) {
  constexpr std::string_view kPlain = " .,:;-+=()[]/<>|_*#!?~^&%";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += ' ';
    } else if (byte < 0x80 && (std::isalnum(byte) != 0 || kPlain.find(c) != kPlain.npos)) {
      out += c;
    } else {
      out += fmt::format("\\{:03o}", byte);
    }
  }
  return out + "\"";
}

std::string gnuplot_tick(const std::string& text) {
  std::string doubled;
  for (const char c : text) doubled += c == '%' ? "%%" : std::string(1, c);
  return gnuplot_text(doubled);
}

std::string colour_of(const Series& series) {
  return kLightColours[series.arm % kLightColours.size()];
}

int mark_of(const Series& series, bool hollow) {
  static constexpr std::array<std::array<int, 2>, 5> kMarks = {
      {{7, 6}, {5, 4}, {13, 12}, {11, 10}, {15, 14}}};
  const std::size_t kind = (series.arm + series.arm / kLightColours.size()) % kMarks.size();
  return kMarks[kind][hollow ? 1 : 0];
}

double placed(const Axis& axis, double value) {
  return axis.threshold > 0 ? on_signed_log(value, axis.threshold) : value;
}

void PanelScript::add(const Series& series) {
  if (series.draw == Draw::kCells) {
    cells(series);
    return;
  }
  if (series.draw == Draw::kPoints) {
    points(series);
    return;
  }
  if (!series.lower.empty()) band(series);
  const std::string block = begin_block();
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    // A line up to infinity would look like a measured slope: it breaks off instead.
    row(std::isfinite(series.y[i])
            ? fmt::format("{} {}", value_of(series.x[i]), value_of(placed(axis_, series.y[i])))
            : "");
  }
  end_block();
  const std::string colour = colour_of(series);
  element(fmt::format("{} with lines lw {} dt {} lc rgb '{}' notitle",
                      block,
                      series.faint ? 0.7 : 1.8,
                      static_cast<int>(series.dash) + 1,
                      series.faint ? "#80" + colour.substr(1) : colour));
  const bool few = series.x.size() <= 60 && series.dash == Dash::kSolid;
  marks(
      series,
      [&](std::size_t i) { return few && series.hollow[i] == 0 && std::isfinite(series.y[i]); },
      mark_of(series, false),
      series.faint ? 0.35 : 0.6);
  exceptions(series);
}

double PanelScript::edge(double v) const {
  if (!std::isinf(v)) return placed(axis_, v);
  return placed(axis_, v > 0 ? axis_.max : axis_.min);
}

std::string PanelScript::begin_block() {
  std::string name = fmt::format("$d{}", next_block_++);
  data_ += name + " << EOD\n";
  return name;
}

void PanelScript::band(const Series& series) {
  // A logarithmic axis has no place for a bound that is not positive.
  const auto low = [&](double v) { return axis_.log && !(v > 0) ? axis_.min / 100 : edge(v); };
  const std::string block = begin_block();
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    const bool gap = std::isnan(series.lower[i]) || std::isnan(series.upper[i]);
    row(gap ? ""
            : fmt::format("{} {} {}",
                          value_of(series.x[i]),
                          value_of(low(series.lower[i])),
                          value_of(edge(series.upper[i]))));
  }
  end_block();
  element(
      fmt::format("{} using 1:2:3 with filledcurves fc rgb '{}' fs transparent solid 0.18 "
                  "noborder notitle",
                  block,
                  colour_of(series)));
}

void PanelScript::marks(const Series& series,
                        const std::function<bool(std::size_t)>& which,
                        int type,
                        double size) {
  std::string rows;
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    if (which(i)) rows += value_of(series.x[i]) + " " + value_of(edge(series.y[i])) + "\n";
  }
  if (rows.empty()) return;
  const std::string block = begin_block();
  data_ += rows;
  end_block();
  element(fmt::format(
      "{} with points pt {} ps {} lc rgb '{}' notitle", block, type, size, colour_of(series)));
}

void PanelScript::exceptions(const Series& series) {
  const auto& y = series.y;
  marks(
      series,
      [&](std::size_t i) { return series.hollow[i] != 0 && std::isfinite(y[i]); },
      mark_of(series, true),
      0.9);
  marks(
      series, [&](std::size_t i) { return std::isinf(y[i]) && y[i] > 0; }, 8, 1.3);
  marks(
      series, [&](std::size_t i) { return std::isinf(y[i]) && y[i] < 0; }, 10, 1.3);
}

void PanelScript::points(const Series& series) {
  std::string rows;
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    if (series.lower.empty() || !std::isfinite(series.y[i])) continue;
    if (!std::isfinite(series.lower[i]) || !std::isfinite(series.upper[i])) continue;
    rows += fmt::format("{} {} {} {}\n",
                        value_of(series.x[i]),
                        value_of(placed(axis_, series.y[i])),
                        value_of(placed(axis_, series.lower[i])),
                        value_of(placed(axis_, series.upper[i])));
  }
  if (!rows.empty()) {
    const std::string block = begin_block();
    data_ += rows;
    end_block();
    element(fmt::format("{} using 1:2:3:4 with yerrorbars pt 0 lw 1.5 lc rgb '{}' notitle",
                        block,
                        colour_of(series)));
  }
  marks(
      series,
      [&](std::size_t i) { return series.hollow[i] == 0 && std::isfinite(series.y[i]); },
      mark_of(series, false),
      1.0);
  exceptions(series);
}

void PanelScript::cells(const Series& series) {
  constexpr double kDark = 0.5;  // from this share on, white letters
  const std::string block = begin_block();
  std::string dark;
  std::string light;
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    const double share = series.shade[i];
    const double x = series.x[i];
    const double y = series.y[i];
    const bool map = !series.until.empty();
    row(fmt::format("{:.9g} {:.9g} {:.9g} {:.9g} {:.9g} {:.9g} {}",
                    x,
                    y,
                    map ? x : x - 0.5,
                    map ? series.until[i] : x + 0.5,
                    y - 0.5,
                    y + 0.5,
                    shade_of(colour_of(series), map ? share : std::sqrt(share))));
    if (map || share < 0.005) continue;
    (share >= kDark ? light : dark) +=
        fmt::format("{:.9g} {:.9g} \"{:.0f} %\"\n", x, y, 100 * share);
  }
  end_block();
  element(block + " using 1:2:3:4:5:6:7 with boxxyerror lc rgb variable fs solid 1 " +
          (series.until.empty() ? "border lc rgb '#ffffff'" : "noborder") + " notitle");
  for (const auto& [rows, colour] : {std::pair{&dark, "#1b1f24"}, std::pair{&light, "#ffffff"}}) {
    if (rows->empty()) continue;
    const std::string letters = begin_block();
    data_ += *rows;
    end_block();
    element(letters + " using 1:2:3 with labels tc rgb '" + colour + "' notitle");
  }
}

}  // namespace kappascope::reports
