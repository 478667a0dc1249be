// SPDX-License-Identifier: Apache-2.0
// What the axes show: decided once, for both renderers.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "reports/figures/builders.h"
#include "reports/number_format.h"

namespace kappascope::reports {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// Axes end here: beyond, their lengths and margins are no numbers any more. A run that diverged in
/// double gets there; what lies outside is cut off by the frame.
constexpr double kLargest = 1e300, kSmallest = 1 / kLargest;

struct Range {
  double min = kInf, max = -kInf;
  void add(double v) {
    if (!std::isfinite(v)) return;
    v = std::abs(v) < kSmallest ? 0 : std::clamp(v, -kLargest, kLargest);
    min = std::min(min, v);
    max = std::max(max, v);
  }
  /// For a logarithmic axis.
  void add_positive(double v) {
    if (v > 0) add(std::max(v, kSmallest));
  }
  [[nodiscard]] bool empty() const { return min > max; }
};

/// Limits of a linear axis with a margin that keeps markers off the frame.
void set_linear(Axis& axis, Range range) {
  if (range.empty()) range = {0, 1};
  double span = range.max - range.min;
  if (!(span > 0)) span = std::max(1e-12, std::abs(range.max)) * 0.5;
  axis.log = false;
  axis.min = std::max(range.min - 0.06 * span, -kLargest);
  axis.max = std::min(range.max + 0.08 * span, kLargest);
}

/// 1, 2, 5 within a narrow axis, whole decades within a wide one.
std::vector<Tick> log_ticks(double min, double max) {
  assert(min > 0 && max > min && std::isfinite(max));
  const double decades = std::log10(max) - std::log10(min);
  const std::vector<double> within =
      decades > 2.5   ? std::vector<double>{1}
      : decades > 0.7 ? std::vector<double>{1, 2, 5}
                      : std::vector<double>{1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9};
  const int every = decades > 6 ? std::max(2, static_cast<int>(std::ceil(decades / 8))) : 1;
  std::vector<Tick> ticks;
  const int last = static_cast<int>(std::ceil(std::log10(max)));
  for (int e = static_cast<int>(std::floor(std::log10(min))); e <= last; ++e) {
    if (within.size() == 1 && e % every != 0) continue;
    for (const double m : within) {
      const double at = m * std::pow(10, e);
      if (at >= min && at <= max) ticks.push_back({at, words(at)});
    }
  }
  return ticks;
}

void set_log(Axis& axis, Range range) {
  if (range.empty()) range = {1, 10};
  const double decades = std::max(0.3, std::log10(range.max) - std::log10(range.min));
  axis.log = true;
  axis.min = std::max(range.min * std::pow(10, -0.08 * decades), kSmallest);
  axis.max =
      std::min(range.max, kLargest / std::pow(10, 0.10 * decades)) * std::pow(10, 0.10 * decades);
  axis.ticks = log_ticks(axis.min, axis.max);
}

std::vector<Tick> signed_ticks(const Axis& axis) {
  std::vector<Tick> ticks = {{0, "0"}};
  const double largest = std::max(axis.max, -axis.min);
  const int last = static_cast<int>(std::floor(std::log10(largest)));
  const int first = static_cast<int>(std::ceil(std::log10(axis.threshold)));
  const int every = last - first > 5 ? 2 : 1;
  for (int e = last; e >= first; e -= every) {
    const double at = std::pow(10, e);
    for (const double v : {-at, at}) {
      if (v >= axis.min && v <= axis.max) ticks.push_back({v, words(v)});
    }
  }
  std::sort(ticks.begin(), ticks.end(), [](const Tick& a, const Tick& b) { return a.at < b.at; });
  return ticks;
}

/// Logarithmic where all is positive, else on both sides of zero; reference lines belong to it.
void set_signed_log(const Figure& figure, std::size_t panel, Axis& axis) {
  Range all;
  double smallest = kInf;
  for (const Series& series : figure.series) {
    if (series.panel != panel) continue;
    for (const auto* values : {&series.y, &series.lower, &series.upper}) {
      for (const double v : *values) all.add(v);
    }
    for (const double v : series.y) {
      if (v != 0) smallest = std::min(smallest, std::abs(v));
    }
  }
  for (const auto& line : figure.lines) {
    if (line.panel == panel) all.add(line.y);
  }
  if (all.empty() || all.min > 0) {
    set_log(axis, all);
    return;
  }
  const double largest = std::max(all.max, -all.min);
  if (!(largest > 0)) {
    set_linear(axis, all);
    return;
  }
  // Six decades a side are enough to read; what is smaller stands near zero.
  axis.threshold = std::clamp(0.3 * smallest, largest * 1e-6, largest);
  const double low = on_signed_log(all.min, axis.threshold);
  const double high = on_signed_log(all.max, axis.threshold);
  axis.log = false;
  axis.min = std::max(axis.threshold * std::sinh(low - 0.08 * (high - low)), -kLargest);
  axis.max = std::min(axis.threshold * std::sinh(high + 0.10 * (high - low)), kLargest);
  axis.ticks = signed_ticks(axis);
}

void set_categories(Axis& axis) {
  axis.min = -0.5;
  axis.max = static_cast<double>(axis.ticks.size()) - 0.5;
}

/// Values decide the axis; bands may widen it only so far that the values can still be read.
Range with_bands(const Figure& figure, std::size_t panel, Range values, bool log) {
  Range all = values;
  for (const Series& series : figure.series) {
    if (series.panel != panel) continue;
    for (const auto* side : {&series.lower, &series.upper}) {
      for (const double v : *side) {
        if (!std::isfinite(v)) continue;
        const double reach = values.max - values.min;
        if (log) {
          if (v > 0) all.add_positive(std::clamp(v, values.min / 10, values.max * 10));
        } else {
          all.add(std::clamp(v, values.min - reach, values.max + reach));
        }
      }
    }
  }
  return all;
}

void set_y_axis(Figure& figure, std::size_t panel) {
  Axis& axis = figure.panels[panel].y;
  if (axis.categories) {
    set_categories(axis);
    return;
  }
  if (axis.signed_log) {
    set_signed_log(figure, panel, axis);
    return;
  }
  Range all;
  Range positive;
  for (const Series& series : figure.series) {
    if (series.panel != panel) continue;
    for (const double v : series.y) {
      all.add(v);
      positive.add_positive(v);
    }
  }
  const bool wanted = axis.log || (axis.may_log && all.min > 0 && all.max > 5 * all.min);
  if (axis.log && all.empty()) {
    set_log(axis, all);
    return;
  }
  if (wanted && !positive.empty() && (all.min > 0 || axis.decades > 0)) {
    const bool cut = axis.decades > 0;
    if (cut) positive.min = std::max(positive.min, positive.max * std::pow(10, -axis.decades));
    Range range = cut ? positive : with_bands(figure, panel, positive, true);
    // A limit that is not far off is shown, so that the distance to it is.
    constexpr double kFar = 100;
    for (const auto& line : figure.lines)
      if (line.panel == panel && line.y < kFar * range.max && kFar * line.y > range.min)
        range.add_positive(line.y);
    set_log(axis, range);
    return;
  }
  for (const auto& line : figure.lines) {
    if (line.panel == panel) all.add(line.y);
  }
  if (axis.whole_bounds) {
    for (const Series& series : figure.series) {
      if (series.panel != panel) continue;
      for (const auto* side : {&series.lower, &series.upper}) {
        for (const double v : *side) all.add(v);
      }
    }
  }
  set_linear(axis, all.empty() ? all : with_bands(figure, panel, all, false));
}

/// The axis that the first panel would have if it held the series of all.
void share_panels(Figure& figure) {
  Figure all = figure;
  for (Series& series : all.series) series.panel = 0;
  for (auto& line : all.lines) line.panel = 0;
  set_y_axis(all, 0);
  for (Panel& panel : figure.panels) {
    const std::string title = panel.y.title;
    panel.y = all.panels[0].y;
    panel.y.title = title;
  }
}

/// One scale a row, so that its panels can be compared by eye; rows that are not logarithmic
/// throughout, or that hold nothing, stay as they are.
void share_rows(Figure& figure) {
  for (std::size_t row = 0; row < figure.panels.size(); row += figure.columns) {
    const std::size_t end = std::min(row + figure.columns, figure.panels.size());
    Range range;
    bool all_log = true;
    for (std::size_t p = row; p < end; ++p) {
      const bool used =
          std::any_of(figure.series.begin(), figure.series.end(), [&](const Series& s) {
            return s.panel == p &&
                   std::any_of(s.y.begin(), s.y.end(), [](double v) { return std::isfinite(v); });
          });
      all_log = all_log && figure.panels[p].y.log;
      if (!used) continue;
      range.add(figure.panels[p].y.min);
      range.add(figure.panels[p].y.max);
    }
    if (range.empty() || !all_log) continue;
    for (std::size_t p = row; p < end; ++p) {
      Axis& axis = figure.panels[p].y;
      axis.min = range.min;
      axis.max = range.max;
      axis.ticks = log_ticks(range.min, range.max);
    }
  }
}

}  // namespace

double on_signed_log(double value, double threshold) {
  return std::asinh(value / threshold);
}

void set_axes(Figure& figure) {
  for (std::size_t p = 0; p < figure.panels.size(); ++p) set_y_axis(figure, p);
  if (figure.share_rows) share_rows(figure);
  if (figure.share_panels && !figure.panels.empty()) share_panels(figure);
  if (figure.x.categories) {
    set_categories(figure.x);
    return;
  }
  Range x;
  for (const Series& series : figure.series) {
    for (const double v : series.x) x.add(v);
    for (const double v : series.until) x.add(v);
  }
  set_linear(figure.x, x);
  if (!x.empty() && x.max > x.min) {
    figure.x.min = x.min - 0.02 * (x.max - x.min);
    figure.x.max = x.max + 0.02 * (x.max - x.min);
  }
}

}  // namespace kappascope::reports
