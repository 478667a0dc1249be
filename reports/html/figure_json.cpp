// SPDX-License-Identifier: Apache-2.0
#include "reports/html/figure_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "reports/figures/builders.h"

namespace kappascope::reports {
namespace {

void append(std::string& out, double value, int digits = 9) {
  if (std::isnan(value)) {
    out += "null";
  } else if (std::isinf(value)) {
    out += value > 0 ? "\"inf\"" : "\"-inf\"";
  } else {
    fmt::format_to(std::back_inserter(out), "{:.{}g}", value, digits);
  }
}

template <typename Range, typename One>
void append_list(std::string& out, const Range& range, const One& one) {
  out += '[';
  bool first = true;
  for (const auto& item : range) {
    if (!first) out += ',';
    first = false;
    one(item);
  }
  out += ']';
}

void append_numbers(std::string& out,
                    const char* key,
                    const std::vector<double>& values,
                    int digits = 9) {
  if (values.empty()) return;
  out += fmt::format(",\"{}\":", key);
  append_list(out, values, [&](double v) { append(out, v, digits); });
}

void append_axis(std::string& out, const Axis& axis) {
  out += "{\"title\":" + text_json(axis.title) + ",\"log\":" + (axis.log ? "true" : "false");
  out += ",\"min\":";
  append(out, axis.min);
  out += ",\"max\":";
  append(out, axis.max);
  out += ",\"ticks\":";
  append_list(out, axis.ticks, [&](const Tick& tick) {
    out += '[';
    append(out, tick.at);
    out += ',' + text_json(tick.label) + ']';
  });
  out += fmt::format(",\"categories\":{}", axis.categories);
  if (axis.threshold > 0) out += fmt::format(",\"threshold\":{:.9g}", axis.threshold);
  out += '}';
}

void append_series(std::string& out, const Series& series) {
  static constexpr std::array<const char*, 4> kDashes = {"solid", "dash", "dot", "dashdot"};
  out += fmt::format("{{\"arm\":{},\"panel\":{},\"points\":{},\"dash\":\"{}\",\"faint\":{}",
                     series.arm,
                     series.panel,
                     series.draw == Draw::kPoints,
                     kDashes[static_cast<std::size_t>(series.dash)],
                     series.faint);
  out += ",\"layer\":" + text_json(series.layer) + ",\"quantity\":" + text_json(series.quantity);
  append_numbers(out, "x", series.x);
  append_numbers(out, "y", series.y);
  append_numbers(out, "shade", series.shade, 4);
  append_numbers(out, "shown", series.shown, 6);
  append_numbers(out, "until", series.until);
  append_numbers(out, "lower", series.lower, 6);
  append_numbers(out, "upper", series.upper, 6);
  if (std::any_of(series.hollow.begin(), series.hollow.end(), [](auto h) { return h != 0; })) {
    out += ",\"hollow\":";
    append_list(out, series.hollow, [&](std::uint8_t h) { out += h != 0 ? '1' : '0'; });
  }
  const bool same =
      std::adjacent_find(series.hover.begin(), series.hover.end(), std::not_equal_to<>()) ==
      series.hover.end();
  if (!series.hover.empty() && same) {
    out += ",\"note\":" + text_json(series.hover.front());
  } else if (!series.hover.empty()) {
    out += ",\"notes\":";
    append_list(out, series.hover, [&](const std::string& note) { out += text_json(note); });
  }
  out += '}';
}

void append_figure(std::string& out, const Figure& figure) {
  out += "{\"id\":" + text_json(figure.id) + ",\"title\":" + text_json(figure.title) + ",\"x\":";
  append_axis(out, figure.x);
  out += fmt::format(",\"columns\":{},\"panels\":", figure.columns);
  append_list(out, figure.panels, [&](const Panel& panel) {
    out += "{\"title\":" + text_json(panel.title);
    if (!panel.layer.empty()) out += ",\"layer\":" + text_json(panel.layer);
    out += fmt::format(",\"height\":{},\"y\":", panel.height);
    append_axis(out, panel.y);
    out += '}';
  });
  out += ",\"series\":";
  append_list(out, figure.series, [&](const Series& series) { append_series(out, series); });
  out += ",\"lines\":";
  append_list(out, figure.lines, [&](const ReferenceLine& line) {
    out += fmt::format("{{\"panel\":{},\"label\":{},\"y\":", line.panel, text_json(line.label));
    append(out, line.y);
    out += '}';
  });
  if (!figure.marks.empty()) {
    out += ",\"marks\":";
    append_list(out, figure.marks, [&](const StepMark& mark) {
      out += fmt::format("{{\"arm\":{},\"label\":{},\"x\":", mark.arm, text_json(mark.label));
      append(out, mark.x);
      if (mark.non_finite) out += ",\"nonFinite\":true";
      out += '}';
    });
  }
  out += '}';
}

}  // namespace

// Names come from users and need not be UTF-8.
std::string text_json(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string figure_json(const Figure& figure) {
  std::string out;
  append_figure(out, figure);
  return out;
}

std::string series_json(const Series& series) {
  std::string out;
  append_series(out, series);
  return out;
}

std::vector<std::string> picked_layers(const std::vector<Figure>& figures,
                                       const std::vector<std::string>& named) {
  constexpr std::size_t kPicked = 3;
  std::map<std::string, double> worst;
  for (const Figure& figure : figures) {
    for (const Panel& panel : figure.panels) {
      if (!panel.layer.empty()) worst.emplace(panel.layer, 0);
    }
  }
  if (worst.size() <= kManyLayers) return {};
  for (const Figure& figure : figures) {
    if (!figure.id.ends_with("kappa_layers")) continue;
    for (const Series& series : figure.series) {
      if (series.dash != Dash::kSolid) continue;  // not of the block
      const auto last =
          std::find_if(series.y.rbegin(), series.y.rend(), [](double v) { return !std::isnan(v); });
      if (last != series.y.rend()) worst[series.layer] = std::max(worst[series.layer], *last);
    }
  }
  std::vector<std::string> layers;
  layers.reserve(worst.size());
  for (const auto& [layer, kappa] : worst) layers.push_back(layer);
  std::ranges::stable_sort(layers,
                           [&](const auto& a, const auto& b) { return worst[a] > worst[b]; });
  std::stable_partition(layers.begin(), layers.end(), [&](const std::string& layer) {
    return std::ranges::find(named, layer) != named.end();
  });
  layers.resize(kPicked);
  return layers;
}

std::string figures_json(const std::vector<Arm>& arms,
                         const std::vector<Figure>& figures,
                         const std::vector<std::string>& named) {
  std::string out = "{\"arms\":";
  append_list(out, arms, [&](const Arm& arm) { out += text_json(arm.label); });
  const auto quote = [&](const char* colour) { out += fmt::format("\"{}\"", colour); };
  out += ",\"light\":";
  append_list(out, kLightColours, quote);
  out += ",\"dark\":";
  append_list(out, kDarkColours, quote);
  out += ",\"picked\":";
  append_list(out, picked_layers(figures, named), [&](const std::string& layer) {
    out += text_json(layer);
  });
  out += ",\"figures\":";
  std::vector<const Figure*> drawn;
  for (const Figure& figure : figures) {
    if (!figure.panels.empty()) drawn.push_back(&figure);
  }
  append_list(out, drawn, [&](const Figure* figure) { append_figure(out, *figure); });
  return out + "}";
}

}  // namespace kappascope::reports
