// SPDX-License-Identifier: Apache-2.0
#include "reports/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>

#include "reports/figures/builders.h"
#include "reports/number_format.h"

namespace kappascope::reports {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Which points of a long series stay: the ends, the smallest and largest of each stretch, and
/// everything that is unresolved, missing or infinite. Stretches are counted from the first point
/// and their length is a power of two: while a run grows, those that are over stay as they are.
std::vector<std::size_t> kept_points(const Series& series, std::size_t target) {
  const std::size_t size = series.x.size();
  const std::size_t stretch = std::bit_ceil(std::max<std::size_t>(1, 2 * size / target));
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

/// How many numbers of text a point costs in the page; a note is as long as three.
std::size_t cost_of(const Series& series) {
  return 2 + (series.lower.empty() ? 0 : 2) + (series.hover.empty() ? 0 : 3);
}

void thin(std::vector<Figure>& figures, std::size_t max_numbers) {
  std::size_t total = 0;
  std::size_t count = 0;
  for (const auto& figure : figures) {
    for (const auto& series : figure.series) total += cost_of(series) * series.x.size();
    count += figure.series.size();
  }
  if (total <= max_numbers) return;
  // An even share each; what short series leave over goes to the long ones, in a few rounds.
  std::size_t share = max_numbers / std::max<std::size_t>(1, count);
  for (int round = 0; round < 4; ++round) {
    std::size_t left = max_numbers;
    std::size_t longer = 0;
    for (const auto& figure : figures) {
      for (const auto& series : figure.series) {
        const std::size_t cost = cost_of(series) * series.x.size();
        if (cost > share)
          ++longer;
        else
          left -= std::min(left, cost);
      }
    }
    if (longer > 0) share = std::max(share, left / longer);
  }
  for (auto& figure : figures) {
    std::size_t before = 0;
    std::size_t after = 0;
    for (auto& series : figure.series) {
      const std::size_t target = std::max<std::size_t>(20, share / cost_of(series));
      if (series.x.size() <= target) continue;
      const auto kept = kept_points(series, target);
      before += series.x.size();
      after += kept.size();
      keep(series.x, kept);
      keep(series.y, kept);
      keep(series.lower, kept);
      keep(series.upper, kept);
      keep(series.shade, kept);
      keep(series.shown, kept);
      keep(series.until, kept);
      keep(series.hollow, kept);
      keep(series.hover, kept);
    }
    if (before > after) {
      figure.caption += fmt::format(
          " Long series are thinned to {} of {} values, the smallest and largest of each stretch "
          "of steps; `kappascope export` writes all.",
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
      // What is missing or infinite is drawn as such.
      hollow += std::isfinite(series.y[i]) ? series.hollow[i] : 0U;
    }
  }
  if (hollow > 0) figure.caption += fmt::format(" Hollow: {} ({}).", figure.hollow, hollow);
  if (infinite > 0) {
    figure.caption += fmt::format(" Triangles at the edge: infinite ({}).", infinite);
  }
  if (missing > 0) figure.caption += fmt::format(" Gaps: no value ({}).", missing);
}

/// Sets places [begin, end) of a list that is as long as what was set last.
template <typename T>
void set_at(
    std::vector<T>& list, std::size_t begin, std::size_t end, const T& value, const T& missing) {
  list.resize(begin, missing);
  list.resize(end, value);
}

std::string hover_of(const store::Scalar& scalar) {
  std::string text;
  if (scalar.n) text += fmt::format("n {:.6g}", *scalar.n);
  if (scalar.n_effective) text += fmt::format(", effective {:.4g}", *scalar.n_effective);
  if (!(scalar.status == store::Status::kOk))
    text += (text.empty() ? "" : ", ") + status_text(scalar);
  return text;
}

}  // namespace

std::optional<Series> series_of(const std::vector<Arm>& arms,
                                std::size_t arm,
                                const std::string& name,
                                const std::string& layer,
                                const std::string& quantity) {
  const Points& points = arms[arm].series(name, layer);
  if (points.empty()) return std::nullopt;
  Series series{.arm = arm, .layer = layer, .quantity = quantity};
  series.x.assign(points.steps().begin(), points.steps().end());
  series.y = points.values();
  series.hollow.reserve(points.size());
  bool any_band = false;
  points.each_stretch([&](const store::Scalar& scalar, std::size_t begin, std::size_t end) {
    if (scalar.lower) set_at(series.lower, begin, end, *scalar.lower, kNan);
    if (scalar.upper) set_at(series.upper, begin, end, *scalar.upper, kNan);
    series.hollow.resize(end, is_resolved(scalar) ? 0 : 1);
    if (const auto hover = hover_of(scalar); !hover.empty())
      set_at(series.hover, begin, end, hover, {});
    any_band = any_band || (scalar.lower && scalar.upper);
  });
  for (auto* bound : {&series.lower, &series.upper})
    any_band ? bound->resize(points.size(), kNan) : bound->clear();
  if (!series.hover.empty()) series.hover.resize(points.size());
  return series;
}

std::optional<Series> quotient_of(std::optional<Series> series, const std::optional<Series>& by) {
  if (!series || !by) return std::nullopt;
  for (std::size_t i = 0; i < series->x.size(); ++i) {
    const auto found = std::ranges::lower_bound(by->x, series->x[i]);
    const auto place = static_cast<std::size_t>(found - by->x.begin());
    const bool there = found != by->x.end() && *found == series->x[i];
    for (auto* values : {&series->y, &series->lower, &series->upper}) {
      if (!values->empty()) (*values)[i] /= there ? by->y[place] : kNan;
    }
  }
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

void add_layer_panels(Figure& figure, const std::vector<std::string>& layers, const Axis& y) {
  figure.x.title = "step";
  figure.share_panels = true;
  figure.columns = std::clamp<std::size_t>(layers.size(), 1, 3);
  for (const auto& layer : layers)
    figure.panels.push_back({.title = layer, .layer = layer, .y = y});
}

bool over_seeds(const std::vector<Arm>& arms) {
  return std::any_of(arms.begin(), arms.end(), [](const Arm& arm) { return arm.seeds > 0; });
}

std::vector<Figure> draft_figures(const std::vector<Arm>& arms) {
  std::vector<Figure> figures = {overview(arms)};
  // Most runs have no images to be right about: nothing is missing there.
  if (auto figure = accuracies(arms); !figure.panels.empty()) figures.push_back(std::move(figure));
  if (auto figure = throughput(arms); !figure.panels.empty()) figures.push_back(std::move(figure));
  if (auto figure = learning_layers(arms); !figure.panels.empty())
    figures.push_back(std::move(figure));
  if (auto figure = kappa_map(arms); !figure.panels.empty()) figures.push_back(std::move(figure));
  figures.push_back(kappa_layers(arms));
  if (auto figure = mean_costs(arms); !figure.panels.empty()) figures.push_back(std::move(figure));
  if (auto figure = kappa_costs(arms); !figure.panels.empty()) figures.push_back(std::move(figure));
  for (auto* draw : {intercept_absorption, hessian_eigenvalues, hessian_density})
    figures.push_back(draw(arms));
  std::ranges::move(layer_figures(arms), std::back_inserter(figures));
  if (auto figure = critical_steps(arms); !figure.panels.empty())
    figures.push_back(std::move(figure));
  const auto groups = spectrum_groups(arms);
  if (groups.empty()) figures.push_back(no_spectrum());
  for (const auto& group : groups) {
    figures.push_back(spectrum_eigenvalues(group, arms));
    figures.push_back(spectrum_density(group, arms));
    figures.push_back(spectrum_vectors(group, arms));
  }
  figures.push_back(gradient_variance(arms));
  figures.push_back(variance_by_bias(arms));
  if (over_seeds(arms)) {
    for (Figure& figure : figures) {
      if (std::ranges::none_of(figure.panels, [](const Panel& p) { return !p.layer.empty(); }))
        continue;
      figure.caption +=
          " Medians over seeds use each seed's last number of a layer: layers take turns.";
    }
  }
  return figures;
}

void finish_figures(std::vector<Figure>& figures, std::size_t max_numbers) {
  for (auto& figure : figures) {
    set_axes(figure);
    add_notes(figure);
  }
  thin(figures, max_numbers);
}

std::vector<Figure> build_figures(const std::vector<Arm>& arms, std::size_t max_numbers) {
  auto figures = draft_figures(arms);
  finish_figures(figures, max_numbers);
  return figures;
}

}  // namespace kappascope::reports
