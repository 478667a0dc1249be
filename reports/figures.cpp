// SPDX-License-Identifier: Apache-2.0
#include "reports/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "reports/figures/parts.h"
#include "reports/words.h"

namespace kappascope::reports {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Range {
  double min = kInf, max = -kInf;
  void add(double v) {
    if (!std::isfinite(v)) return;
    min = std::min(min, v);
    max = std::max(max, v);
  }
  [[nodiscard]] bool empty() const { return min > max; }
};

/// Limits of a linear axis with a margin that keeps markers off the frame.
void set_linear(Axis& axis, Range range) {
  if (range.empty()) range = {0, 1};
  double span = range.max - range.min;
  if (!(span > 0)) span = std::max(1e-12, std::abs(range.max)) * 0.5;
  axis.log = false;
  axis.min = range.min - 0.06 * span;
  axis.max = range.max + 0.08 * span;
}

/// 1, 2, 5 within a narrow axis, whole decades within a wide one.
std::vector<Tick> log_ticks(double min, double max) {
  const double decades = std::log10(max / min);
  const std::vector<double> within =
      decades > 2.5   ? std::vector<double>{1}
      : decades > 0.7 ? std::vector<double>{1, 2, 5}
                      : std::vector<double>{1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9};
  const int every = decades > 6 ? 2 : 1;
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
  const double decades = std::max(0.3, std::log10(range.max / range.min));
  axis.log = true;
  axis.min = range.min * std::pow(10, -0.08 * decades);
  axis.max = range.max * std::pow(10, 0.10 * decades);
  axis.ticks = log_ticks(axis.min, axis.max);
}

/// Values decide the axis; bands may widen it only so far that the values can still be read.
Range with_bands(const Figure& figure, std::size_t panel, Range values, bool log) {
  Range all = values;
  for (const Series& series : figure.series) {
    if (series.panel != panel) continue;
    for (const auto* side : {&series.lower, &series.upper}) {
      for (const double v : *side) {
        if (log && !(v > 0)) continue;
        const double reach = values.max - values.min;
        all.add(std::isfinite(v) ? std::clamp(v,
                                              log ? values.min / 10 : values.min - reach,
                                              log ? values.max * 10 : values.max + reach)
                                 : kNan);
      }
    }
  }
  return all;
}

void set_y_axis(Figure& figure, std::size_t panel) {
  Axis& axis = figure.panels[panel].y;
  Range all;
  Range positive;
  for (const Series& series : figure.series) {
    if (series.panel != panel) continue;
    for (const double v : series.y) {
      all.add(v);
      if (v > 0) positive.add(v);
    }
  }
  const bool wanted = axis.log || (axis.may_log && all.min > 0 && all.max > 5 * all.min);
  if (wanted && !positive.empty() && (all.min > 0 || axis.decades > 0)) {
    const bool cut = axis.decades > 0;
    if (cut) positive.min = std::max(positive.min, positive.max * std::pow(10, -axis.decades));
    set_log(axis, cut ? positive : with_bands(figure, panel, positive, true));
    return;
  }
  for (const auto& line : figure.lines) {
    if (line.panel == panel) all.add(line.y);
  }
  set_linear(axis, all.empty() ? all : with_bands(figure, panel, all, false));
}

/// One scale a row, so that the panels of a row can be compared by eye.
void share_rows(Figure& figure) {
  for (std::size_t row = 0; row < figure.panels.size(); row += figure.columns) {
    const std::size_t end = std::min(row + figure.columns, figure.panels.size());
    Range range;
    for (std::size_t p = row; p < end; ++p) {
      const bool used = std::any_of(figure.series.begin(),
                                    figure.series.end(),
                                    [&](const Series& s) { return s.panel == p; });
      if (!used) continue;
      range.add(figure.panels[p].y.min);
      range.add(figure.panels[p].y.max);
    }
    if (range.empty()) continue;
    for (std::size_t p = row; p < end; ++p) {
      Axis& axis = figure.panels[p].y;
      axis.min = range.min;
      axis.max = range.max;
      axis.log = true;
      axis.ticks = log_ticks(range.min, range.max);
    }
  }
}

void set_axes(Figure& figure) {
  for (std::size_t p = 0; p < figure.panels.size(); ++p) set_y_axis(figure, p);
  if (figure.share_rows) share_rows(figure);
  if (figure.x.categories) {
    figure.x.min = -0.5;
    figure.x.max = static_cast<double>(figure.x.ticks.size()) - 0.5;
    return;
  }
  Range x;
  for (const Series& series : figure.series) {
    for (const double v : series.x) x.add(v);
  }
  set_linear(figure.x, x);
  if (!x.empty() && x.max > x.min) {
    figure.x.min = x.min - 0.02 * (x.max - x.min);
    figure.x.max = x.max + 0.02 * (x.max - x.min);
  }
}

/// Which points of a long series stay: the ends, the smallest and largest of each stretch, and
/// everything that is unresolved, missing or infinite.
std::vector<std::size_t> kept_points(const Series& series, std::size_t target) {
  const std::size_t size = series.x.size();
  const std::size_t stretch = std::max<std::size_t>(1, 2 * size / target);
  std::vector<std::size_t> kept = {0, size - 1};
  for (std::size_t begin = 0; begin < size; begin += stretch) {
    const std::size_t end = std::min(begin + stretch, size);
    std::size_t low = begin;
    std::size_t high = begin;
    for (std::size_t i = begin; i < end; ++i) {
      if (series.hollow[i] != 0 || !std::isfinite(series.y[i])) kept.push_back(i);
      if (series.y[i] < series.y[low]) low = i;
      if (series.y[i] > series.y[high]) high = i;
    }
    kept.push_back(low);
    kept.push_back(high);
  }
  std::sort(kept.begin(), kept.end());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  return kept;
}

template <typename T>
void keep(std::vector<T>& values, const std::vector<std::size_t>& kept) {
  if (values.empty()) return;
  std::vector<T> out;
  out.reserve(kept.size());
  for (const std::size_t i : kept) out.push_back(std::move(values[i]));
  values = std::move(out);
}

void thin(std::vector<Figure>& figures, std::size_t max_points) {
  std::size_t total = 0;
  for (const auto& figure : figures) {
    for (const auto& series : figure.series) total += series.x.size();
  }
  if (total <= max_points) return;
  std::size_t count = 0;
  for (const auto& figure : figures) count += figure.series.size();
  const std::size_t target =
      std::max<std::size_t>(100, max_points / std::max<std::size_t>(1, count));
  for (auto& figure : figures) {
    std::size_t before = 0;
    std::size_t after = 0;
    for (auto& series : figure.series) {
      if (series.x.size() <= target) continue;
      const auto kept = kept_points(series, target);
      before += series.x.size();
      after += kept.size();
      keep(series.x, kept);
      keep(series.y, kept);
      keep(series.lower, kept);
      keep(series.upper, kept);
      keep(series.hollow, kept);
      keep(series.hover, kept);
    }
    if (before > after) {
      figure.caption += fmt::format(
          " Drawn and linked from {} of {} values in the long series: the smallest and largest of "
          "each stretch of steps; `kappascope export` gives them all.",
          after,
          before);
    }
  }
}

/// What cannot be drawn as it is gets said in words.
void add_notes(Figure& figure) {
  std::size_t missing = 0;
  std::size_t infinite = 0;
  std::size_t hollow = 0;
  for (const Series& series : figure.series) {
    for (std::size_t i = 0; i < series.y.size(); ++i) {
      missing += std::isnan(series.y[i]) ? 1U : 0U;
      infinite += std::isinf(series.y[i]) ? 1U : 0U;
      hollow += series.hollow[i];
    }
  }
  if (hollow > 0) figure.caption += fmt::format(" Hollow: not resolved ({}).", hollow);
  if (infinite > 0) {
    figure.caption += fmt::format(" Triangles at the edge: infinite ({}).", infinite);
  }
  if (missing > 0) figure.caption += fmt::format(" Gaps: no number could be given ({}).", missing);
}

std::string hover_of(const store::Scalar& scalar) {
  std::string text;
  if (scalar.n) text += fmt::format("n {:.6g}", *scalar.n);
  if (scalar.n_effective) text += fmt::format(", effective {:.4g}", *scalar.n_effective);
  if (scalar.status != "ok") text += (text.empty() ? "" : ", ") + scalar.status;
  return text;
}

}  // namespace

std::optional<Series> series_of(const std::vector<Arm>& arms,
                                std::size_t arm,
                                const std::string& name,
                                const std::string& layer,
                                const std::string& quantity) {
  const Arm::Points& points = arms[arm].series(name, layer);
  if (points.empty()) return std::nullopt;
  Series series{.arm = arm, .layer = layer, .quantity = quantity};
  bool any_band = false;
  bool any_hover = false;
  for (const auto& [step, scalar] : points) {
    series.x.push_back(static_cast<double>(step));
    series.y.push_back(scalar.value);
    series.lower.push_back(scalar.lower.value_or(kNan));
    series.upper.push_back(scalar.upper.value_or(kNan));
    series.hollow.push_back(is_resolved(scalar) ? 0 : 1);
    series.hover.push_back(hover_of(scalar));
    any_band = any_band || (scalar.lower && scalar.upper);
    any_hover = any_hover || !series.hover.back().empty();
  }
  if (!any_band) {
    series.lower.clear();
    series.upper.clear();
  }
  if (!any_hover) series.hover.clear();
  return series;
}

bool add_series(
    Figure& figure, std::size_t panel, std::optional<Series> series, Dash dash, bool faint) {
  if (!series) return false;
  series->panel = panel;
  series->dash = dash;
  series->faint = faint;
  figure.series.push_back(std::move(*series));
  return true;
}

std::vector<Figure> build_figures(const std::vector<Arm>& arms, std::size_t max_points) {
  std::vector<Figure> figures = {loss_and_kappa(arms),
                                 condition_numbers(arms),
                                 intercept_absorption(arms),
                                 hessian_eigenvalues(arms),
                                 hessian_density(arms),
                                 gradient_variance(arms),
                                 variance_by_bias(arms)};
  for (auto& figure : figures) {
    set_axes(figure);
    add_notes(figure);
  }
  thin(figures, max_points);
  return figures;
}

}  // namespace kappascope::reports
