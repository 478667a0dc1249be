// SPDX-License-Identifier: Apache-2.0
#include "reports/terminal/frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/printable.h"
#include "core/wrap.h"
#include "reports/diagnosis/questions.h"
#include "reports/figures/builders.h"
#include "reports/findings/wording.h"
#include "reports/live/status.h"
#include "reports/number_format.h"
#include "reports/runs/layer_names.h"
#include "reports/terminal/canvas.h"

namespace kappascope::reports {
namespace {

/// Of the axis labels on the left.
constexpr std::size_t kGutter = 10;
constexpr std::size_t kFewestRows = 4;
constexpr std::size_t kMostArms = 8;

char letter_of(std::size_t arm) {
  return static_cast<char>('A' + static_cast<int>(arm % 26));
}

std::string right_aligned(const std::string& text, std::size_t width) {
  const std::size_t size = characters(text);
  return std::string(width - std::min(width, size), ' ') + text;
}

std::string value_of(const std::optional<store::StepValue>& point) {
  return words(point->scalar.value) + (is_resolved(point->scalar) ? "" : " (not resolved)");
}

/// "loss 0.31, test 0.34, λ1 31, 90 % learned after 45 steps in layers.2"; what was not measured is
/// left out.
std::string numbers_of(const Arm& arm, const LayerNames& short_name) {
  std::vector<std::string> parts;
  if (const auto n = arm.damaged.size(); n > 0)
    parts.push_back(
        fmt::format("{} stored {} damaged and left out", n, n == 1 ? "value is" : "values are"));
  const auto add = [&](const char* name, const std::optional<store::StepValue>& point) {
    if (point) parts.push_back(name + value_of(point));
  };
  add("loss ", arm.last(id::kLossTrain));
  add("test ", arm.last(id::kLossTest));
  add("λ1 ", arm.last(id::kHessianLambda.at(1)));
  if (const auto worst = worst_layer_of(arm); worst.point) {
    const auto where = printable(short_name(worst.point->scalar.layer));
    parts.push_back(worst.in_steps ? fmt::format("90 % learned after {} steps in {}",
                                                 steps_in_words(worst.point->scalar),
                                                 where)
                                   : fmt::format("κ in {} {}", where, value_of(worst.point)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// A longer line would be broken by the terminal, and the plots below it would move.
std::string clipped(const std::string& text, std::size_t columns) {
  if (characters(text) <= columns) return text;
  std::string out;
  std::size_t count = 0;
  for (const char c : text) {
    const bool begins = (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    if (begins && ++count == columns) break;
    out += c;
  }
  return out + "…";
}

/// "12:00:03 UTC" of an ISO 8601 time.
std::string clock_of(const std::string& time) {
  return printable(time.size() < 20 ? time : time.substr(11, 8) + " UTC");
}

std::vector<std::string> lines_of(const std::vector<Arm>& arms, std::size_t columns) {
  const LayerNames short_name(arms);
  std::vector<std::string> lines;
  for (std::size_t a = 0; a < arms.size() && a < kMostArms; ++a) {
    const Arm& arm = arms[a];
    lines.push_back(fmt::format("{} {}: {} {}",
                                letter_of(a),
                                printable(arm.label),
                                printable(activity(arm)),
                                clock_of(arm.last_written)));
    if (const auto numbers = numbers_of(arm, short_name); !numbers.empty())
      lines.push_back("    " + numbers);
  }
  if (arms.size() > kMostArms) lines.push_back(fmt::format("and {} more", arms.size() - kMostArms));
  for (auto& line : lines) line = clipped(line, columns);
  return lines;
}

/// What a label of the y axis says, row by row.
std::vector<std::string> labels_of(const Axis& axis, const Canvas& canvas, std::size_t rows) {
  std::vector<Tick> ticks = axis.ticks;
  if (ticks.empty()) {
    for (int i = 0; i <= 2; ++i) {
      const double at = axis.min + (0.05 + 0.45 * i) * (axis.max - axis.min);
      ticks.push_back({at, words(at)});
    }
  }
  std::vector<std::string> labels(rows);
  for (const Tick& tick : ticks) labels[canvas.row_of(tick.at)] = tick.label;
  return labels;
}

struct PlotSize {
  std::size_t columns = 0, rows = 0;
  bool colours = false;
};

/// Whether the line has its arm's letter: a solid one, a faint one where no other is.
bool is_named(const Series& series, const Figure& figure) {
  if (series.dash != Dash::kSolid) return false;
  return !series.faint || std::ranges::none_of(figure.series, [&](const Series& other) {
    return other.arm == series.arm && other.panel == series.panel && !other.faint &&
           other.dash == Dash::kSolid;
  });
}

void add_panel(const Figure& figure,
               std::size_t panel,
               const PlotSize& size,
               std::vector<std::string>& out) {
  const Axis& y = figure.panels[panel].y;
  Canvas canvas(size.columns, size.rows, figure.x, y);
  // The faint ones are a background: the strong ones are drawn over them.
  for (const bool faint : {true, false}) {
    for (const Series& series : figure.series) {
      if (series.panel == panel && series.faint == faint) canvas.draw(series);
    }
  }
  for (const Series& series : figure.series) {
    if (series.panel == panel && is_named(series, figure))
      canvas.mark_end(series, letter_of(series.arm));
  }
  const std::string title = figure.panels[panel].title + (y.log ? " (log)" : "");
  out.push_back(clipped(printable(title), kGutter + size.columns));
  const auto labels = labels_of(y, canvas, size.rows);
  const auto rows = canvas.rows(size.colours);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    out.push_back(right_aligned(labels[r], kGutter - 2) + (labels[r].empty() ? " │" : " ┤") +
                  rows[r]);
  }
}

/// "0 … step 1,234", under the plots.
std::string step_axis(const std::vector<Arm>& arms, std::size_t columns) {
  const auto longest = std::ranges::max_element(arms, {}, &Arm::last_step);
  const std::string first = "0";
  const auto last = "step " + grouped(static_cast<double>(longest->last_step));
  const std::size_t used = characters(first) + characters(last);
  return std::string(kGutter, ' ') + first + std::string(columns > used ? columns - used : 1, ' ') +
         last;
}

/// Its first panels; the others are for the page.
Figure first_panels(Figure figure, std::size_t count) {
  const auto is_other = [&](const auto& part) { return part.panel >= count; };
  std::erase_if(figure.series, is_other);
  std::erase_if(figure.lines, is_other);
  figure.panels.resize(std::min(count, figure.panels.size()));
  return figure;
}

/// λ1 of each arm and what it must stay below; the next eigenvalues are for the page.
Figure sharpness(const std::vector<Arm>& arms) {
  Figure figure = first_panels(hessian_eigenvalues(arms), 1);
  std::erase_if(figure.series, &Series::faint);
  return figure;
}

/// The loss, and the worst layer where one was measured.
Figure loss_and_layer(const std::vector<Arm>& arms) {
  return first_panels(overview(arms, false), worst_layers_of(arms).empty() ? 1 : 2);
}

/// A panel of a figure that has something to draw.
struct Place {
  const Figure* figure = nullptr;
  std::size_t panel = 0;
};
std::vector<Place> places_of(const std::vector<Figure>& figures) {
  std::vector<Place> places;
  for (const Figure& figure : figures) {
    for (std::size_t p = 0; p < figure.panels.size(); ++p) {
      if (std::ranges::find(figure.series, p, &Series::panel) != figure.series.end())
        places.push_back({&figure, p});
    }
  }
  return places;
}

}  // namespace

std::string frame_of(const std::vector<Arm>& arms, const TerminalSize& size) {
  std::vector<std::string> lines = lines_of(arms, size.columns);
  std::vector<Figure> figures;
  if (!arms.empty()) figures = {loss_and_layer(arms), sharpness(arms)};
  finish_figures(figures);
  const auto places = places_of(figures);
  if (!places.empty()) {
    Axis steps = places.front().figure->x;
    for (const Place& place : places) {
      steps.min = std::min(steps.min, place.figure->x.min);
      steps.max = std::max(steps.max, place.figure->x.max);
    }
    for (Figure& figure : figures) figure.x = steps;
    const std::size_t used = lines.size() + 2 + places.size();
    const std::size_t left = size.rows > used ? size.rows - used : 0;
    const PlotSize plot{
        .columns = std::max<std::size_t>(20, size.columns - std::min(size.columns, kGutter)),
        .rows = std::max(kFewestRows, left / places.size()),
        .colours = size.colours};
    lines.emplace_back();
    for (const Place& place : places) add_panel(*place.figure, place.panel, plot, lines);
    lines.push_back(step_axis(arms, plot.columns));
  }
  std::string out;
  for (const auto& line : lines) out += line + "\n";
  return out;
}

}  // namespace kappascope::reports
