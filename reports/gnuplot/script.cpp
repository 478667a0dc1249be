// SPDX-License-Identifier: Apache-2.0
#include "reports/gnuplot/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "reports/gnuplot/panel.h"

namespace kappascope::reports {
namespace {

constexpr double kRow = 150, kGap = 40, kTop = 26, kBottom = 54;  // points, as is the width
constexpr double kWidth = 900, kLeft = 84, kRight = 16, kKeyLine = 20;

/// Distance of the ticks of a linear axis `width` points long: 1, 2 or 5 times a power of ten, and
/// so far apart that their labels stay apart.
double tick_distance(const Axis& axis, double width) {
  constexpr double kLetter = 8.5, kBlank = 1.5;  // points; letters between two labels
  const double range = axis.max - axis.min;
  // Of a label near `v`, which has two digits that are not zero.
  const auto letters = [](double v) {
    const double rounded = std::strtod(fmt::format("{:.1e}", v).c_str(), nullptr);
    return static_cast<double>(fmt::format("{:.6g}", rounded).size());
  };
  const double wide = kLetter * (std::max({letters(axis.min), letters(axis.max), 2.0}) + kBlank);
  const double least = range / std::max(1.0, std::min(10.0, std::floor(width / wide)));
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= least) return factor * power;
  return 10 * power;
}

/// `labelled`: whether numbers stand at the ticks.
std::string axis_script(const Axis& axis, char name, double length, bool labelled) {
  std::string out = fmt::format("set {}range [{:.9g}:{:.9g}]\n{}set logscale {}\n",
                                name,
                                placed(axis, axis.min),
                                placed(axis, axis.max),
                                axis.log ? "" : "un",
                                name);
  if (axis.ticks.empty()) {
    const bool spaced = name == 'x' && !axis.log && axis.max > axis.min;
    const auto distance =
        spaced ? fmt::format("{:.9g}", tick_distance(axis, length)) : std::string("autofreq");
    return out +
           fmt::format(
               "set format {} '{}'\nset {}tics {}\n", name, labelled ? "%g" : "", name, distance);
  }
  out += fmt::format("set {}tics (", name);
  for (std::size_t i = 0; i < axis.ticks.size(); ++i) {
    out += fmt::format("{}{} {:.9g}",
                       i == 0 ? "" : ", ",
                       gnuplot_tick(labelled ? axis.ticks[i].label : ""),
                       placed(axis, axis.ticks[i].at));
  }
  return out + ")\n";
}

/// Letters of the longest name of a layer on a y axis.
double longest_name(const Figure& figure) {
  std::size_t longest = 0;
  for (const Panel& panel : figure.panels) {
    if (!panel.y.categories) continue;
    for (const Tick& tick : panel.y.ticks) longest = std::max(longest, tick.label.size());
  }
  return static_cast<double>(longest);
}

/// Where things stand on the page, in points from the upper left.
struct Sheet {
  std::vector<double> tops, heights;  // one a row of panels
  double height = 0;

  Sheet(const Figure& figure, std::size_t key_lines) {
    double at = 30 + kKeyLine * static_cast<double>(key_lines) + kTop;
    for (std::size_t p = 0; p < figure.panels.size(); p += figure.columns) {
      double tallest = 0;
      const std::size_t end = std::min(p + figure.columns, figure.panels.size());
      for (std::size_t i = p; i < end; ++i) tallest = std::max(tallest, figure.panels[i].height);
      tops.push_back(at);
      heights.push_back(kRow * tallest);
      at += kRow * tallest + kGap;
    }
    height = at - kGap + kBottom;
  }
};

std::string terminal(FigureFormat format, double height) {
  switch (format) {
    case FigureFormat::kSvg:
      return fmt::format(
          "svg noenhanced size {:.0f},{:.0f} font 'sans-serif,13' background '#ffffff'",
          kWidth,
          height);
    case FigureFormat::kPdf:
      return fmt::format(
          "pdfcairo noenhanced size {:.2f}in,{:.2f}in font 'sans,9'", kWidth / 100, height / 100);
    case FigureFormat::kPng:
      return fmt::format(
          "pngcairo noenhanced size {:.0f},{:.0f} font 'sans,18' fontscale 1 "
          "linewidth 2 pointscale 2 background '#ffffff'",
          2 * kWidth,
          2 * height);
  }
  return "";
}

/// What a key names beside each other: gnuplot breaks a line whose columns, each as wide as the
/// longest name, do not fit.
class KeyEntries {
 public:
  void add(std::string plot, const std::string& name) {
    entries_.push_back(fmt::format("{} title {}", plot, gnuplot_text(name)));
    longest_ = std::max(longest_, name.size());
  }

  [[nodiscard]] std::vector<std::string> lines() const {
    constexpr std::size_t kLetters = 120, kSample = 8;  // letters of a line, and of a line's sample
    const auto fit = std::max<std::size_t>(1, kLetters / (longest_ + kSample));
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (i % fit == 0) {
        lines.push_back(entries_[i]);
      } else {
        lines.back() += ", " + entries_[i];
      }
    }
    return lines;
  }

 private:
  std::vector<std::string> entries_;
  std::size_t longest_ = 0;
};

/// The key: the arms (colour and marker), and the kinds of line where a panel has several.
class Key {
 public:
  Key(const std::vector<Arm>& arms, const Figure& figure) {
    KeyEntries of_arms, of_kinds;
    std::map<std::pair<Dash, bool>, std::vector<std::string>> kinds;
    std::map<std::size_t, std::set<std::pair<Dash, bool>>> in_panels;
    std::vector<bool> shown(arms.size(), false);
    for (const Series& series : figure.series) {
      if (series.draw == Draw::kLine) {
        in_panels[series.panel].insert({series.dash, series.faint});
        auto& names = kinds[{series.dash, series.faint}];
        if (std::find(names.begin(), names.end(), series.quantity) == names.end()) {
          names.push_back(series.quantity);
        }
      }
      if (shown[series.arm]) continue;
      shown[series.arm] = true;
      of_arms.add(fmt::format("NaN with linespoints lw 2 pt {} ps 0.9 lc rgb '{}'",
                              mark_of(series, false),
                              colour_of(series)),
                  arms[series.arm].label);
    }
    lines_ = of_arms.lines();
    if (std::ranges::none_of(in_panels, [](const auto& one) { return one.second.size() > 1; }))
      return;
    for (const auto& [kind, names] : kinds)
      of_kinds.add(fmt::format("NaN with lines lw {} dt {} lc rgb '{}'",
                               kind.second ? 1 : 2,
                               static_cast<int>(kind.first) + 1,
                               kind.second ? "#999999" : "#333333"),
                   fmt::format("{}", fmt::join(names, ", ")));
    for (auto& line : of_kinds.lines()) lines_.push_back(std::move(line));
  }

  [[nodiscard]] std::size_t lines() const { return lines_.size(); }

  [[nodiscard]] std::string script(double sheet_height) const {
    std::string out =
        "unset border\nunset tics\nunset xlabel\nunset ylabel\n"
        "set xrange [0:1]\nset yrange [0:1]\nunset logscale\n"
        "set key at graph 0, 0.5 left center horizontal Left reverse samplen 2.5\n";
    double top = 30;
    for (const auto& line : lines_) {
      out += fmt::format(
          "set lmargin at screen {:.5f}\nset rmargin at screen 0.98\n"
          "set tmargin at screen {:.5f}\nset bmargin at screen {:.5f}\nplot {}\nunset label\n",
          12 / kWidth,
          1 - top / sheet_height,
          1 - (top + kKeyLine) / sheet_height,
          line);
      top += kKeyLine;
    }
    return out +
           "unset key\nset border 3\nset xtics nomirror out scale 0.7 offset 0,0.4\n"
           "set ytics nomirror out scale 0.7 offset 0.4,0\n";
  }

 private:
  std::vector<std::string> lines_;
};

}  // namespace

std::string gnuplot_script(const std::vector<Arm>& arms,
                           const Figure& figure,
                           FigureFormat format,
                           const std::filesystem::path& file) {
  const Key key(arms, figure);
  const Sheet sheet(figure, key.lines());
  std::string out = "set encoding utf8\nset terminal " + terminal(format, sheet.height) +
                    "\nset output " + gnuplot_text(file.string()) +
                    "\nset datafile missing 'NaN'\n";
  std::string data;
  std::string panels;
  std::size_t block = 0;
  const double gap = figure.columns > 1 ? 62 : 0;
  const auto columns = static_cast<double>(figure.columns);
  const double left_edge = std::max(kLeft, std::min(280.0, 44 + 7 * longest_name(figure)));
  const double width = (kWidth - left_edge - kRight - gap * (columns - 1)) / columns;
  for (std::size_t p = 0; p < figure.panels.size(); ++p) {
    const Panel& panel = figure.panels[p];
    PanelScript script(panel.y, block);
    for (const Series& series : figure.series) {
      if (series.panel == p) script.add(series);
    }
    block = script.next_block();
    data += script.data();
    const std::size_t row = p / figure.columns;
    const double left = left_edge + static_cast<double>(p % figure.columns) * (width + gap);
    panels += fmt::format(
        "set lmargin at screen {:.5f}\nset rmargin at screen {:.5f}\n"
        "set tmargin at screen {:.5f}\nset bmargin at screen {:.5f}\n",
        left / kWidth,
        (left + width) / kWidth,
        1 - sheet.tops[row] / sheet.height,
        1 - (sheet.tops[row] + sheet.heights[row]) / sheet.height);
    const bool bottom = p + figure.columns >= figure.panels.size();
    panels += axis_script(figure.x, 'x', width, bottom) +
              axis_script(panel.y, 'y', sheet.heights[row], true);

    panels += fmt::format("set label 2 {} at graph 0, graph 1 left offset 0,0.6\n",
                          gnuplot_text(panel.title));
    // gnuplot leaves out a title that does not fit between ticks that point outwards and the edge.
    panels += "set xlabel " + (bottom ? gnuplot_text(figure.x.title) : "''") + " offset 0,0.8\n";
    panels +=
        "set ylabel " +
        (p % figure.columns == 0
             ? gnuplot_text(panel.y.title + (panel.y.log || panel.y.threshold > 0 ? " (log)" : ""))
             : "''") +
        "\n";
    std::string plot = script.plot();
    int label = 3;
    for (const ReferenceLine& line : figure.lines) {
      if (line.panel != p) continue;
      plot += fmt::format("{}{:.9g} with lines dt 2 lw 0.8 lc rgb '#888888' notitle",
                          plot.empty() ? "" : ", ",
                          placed(panel.y, line.y));
      panels += fmt::format(
          "set label {} {} at graph 0.99, first {:.9g} right offset 0,0.5 "
          "textcolor rgb '#666666'\n",
          label++,
          gnuplot_text(line.label),
          placed(panel.y, line.y));
    }
    // The upper edge is that of the first panel.
    for (const StepMark& mark : p == 0 ? figure.marks : std::vector<StepMark>{}) {
      panels += fmt::format(
          "set arrow from first {0:.9g}, graph 1.04 to first {0:.9g}, graph 0.98 lw 1.2 "
          "lc rgb '{1}'\n",
          mark.x,
          kLightColours.at(mark.arm % kLightColours.size()));
      if (mark.non_finite)
        panels +=
            fmt::format("set label {} '×' at first {:.9g}, graph 1.06 center\n", label++, mark.x);
    }
    panels += "plot " + (plot.empty() ? "NaN notitle" : plot) + "\nunset label\nunset arrow\n";
  }
  out += data;
  out += "set multiplot\nset label 99 " + gnuplot_text(figure.title) +
         fmt::format(" at screen {:.5f}, {:.5f} left\n", 12 / kWidth, 1 - 16 / sheet.height);
  out += key.script(sheet.height) + panels + "unset multiplot\nunset output\n";
  return out;
}

}  // namespace kappascope::reports
